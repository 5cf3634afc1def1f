/* SPDX-License-Identifier: MIT */
/* HTML: one self-contained page. All texts from files are escaped by
 * page_text(). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"

/* Colours have names, with values for light, dark and paper; figures use the
 * same names. */
static const char STYLE[] =
    ":root{color-scheme:light dark;--paper:#fff;--card:#f6f7f9;--ink:#1d2330;"
    "--soft:#5b6475;--line:#e1e4ea;--axis:#8a92a0;--dot:#6b7484;--c1:#1f5fa8;"
    "--c2:#c8482e;--c3:#2f7f43;--c4:#7d4ea0;--c5:#9a6f00;--c6:#4a5568;"
    "--good:#2f7f43;--bad:#b3361d;--b1:#d5e3f2;--b2:#a9c7e4;--b3:#7aa8d3}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#14171d;--card:#1c2129;"
    "--ink:#e4e8ef;--soft:#a0a9b8;--line:#2e3541;--axis:#6d7686;--dot:#97a1b2;"
    "--c1:#6ea8e6;--c2:#f08a6c;--c3:#78c48a;--c4:#bf95df;--c5:#dcb04a;"
    "--c6:#b6bfcd;--good:#78c48a;--bad:#f08a6c;--b1:#1f3148;--b2:#2b4a70;"
    "--b3:#3d689c}}\n"
    "@media print{:root{color-scheme:light;--paper:#fff;--card:#fff;"
    "--ink:#000;--soft:#333;--line:#ccc;--axis:#777;--dot:#555;--c1:#1f5fa8;"
    "--c2:#c8482e;--c3:#2f7f43;--c4:#7d4ea0;--c5:#9a6f00;--c6:#4a5568;"
    "--good:#2f7f43;--bad:#b3361d;--b1:#d5e3f2;--b2:#a9c7e4;--b3:#7aa8d3}"
    "section,figure,table{break-inside:avoid}body{font-size:10pt}"
    "nav{display:none}main{padding:0}}\n"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.6 "
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,"
    "sans-serif}\n"
    "main{max-width:60rem;margin:0 auto;padding:3.5rem 1.5rem 5rem}\n"
    "h1{font-size:2rem;line-height:1.2;margin:0 0 .4rem;font-weight:650;"
    "letter-spacing:-.015em;overflow-wrap:anywhere}\n"
    "h2{font-size:1.3rem;margin:0 0 1rem;font-weight:620;"
    "letter-spacing:-.01em}\n"
    "h3{font-size:1rem;margin:1.8rem 0 .5rem;font-weight:620}\n"
    "p{margin:.6rem 0;max-width:46rem}.sub{color:var(--soft);margin:0}\n"
    "section{margin-top:3.5rem}nav{margin:1.4rem 0 0;display:flex;"
    "flex-wrap:wrap;gap:.3rem 1.2rem;font-size:.9rem}\n"
    "a{color:var(--c1);text-decoration:none}a:hover{text-decoration:underline}"
    "\n"
    "figure{margin:1.4rem 0 0}figure svg{display:block;width:100%;height:auto}"
    "\n"
    "figcaption{color:var(--soft);font-size:.9rem;margin-top:.5rem;"
    "max-width:46rem}\n"
    "@media screen and (max-width:40rem){figure svg{min-width:38rem}}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0;"
    "font-size:.92rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.35rem 1.4rem .35rem 0;text-align:right;border-bottom:1px "
    "solid var(--line);white-space:nowrap}\n"
    "th{color:var(--soft);font-weight:500}th:first-child,td:first-child{"
    "text-align:left}td.text{text-align:left;white-space:normal}\n"
    "table.facts th{text-align:left;vertical-align:top}table.facts td{"
    "text-align:left;white-space:normal;overflow-wrap:anywhere}\n"
    "pre{background:var(--card);border:1px solid var(--line);"
    "border-radius:.5rem;padding:1rem 1.2rem;overflow-x:auto;font:.86rem/1.55 "
    "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:1rem 0}\n"
    ".verdict{margin-top:2rem;padding:1.1rem 1.4rem;border-radius:.6rem;"
    "background:var(--card);border-left:.35rem solid var(--good)}\n"
    ".verdict.bad{border-left-color:var(--bad)}.verdict strong{"
    "font-size:1.08rem}.verdict ul{margin:.5rem 0 .2rem;padding-left:1.2rem}\n"
    ".wrong{color:var(--bad);font-weight:600}"
    ".key{display:inline-block;width:.8em;height:.8em;border-radius:50%;"
    "margin:0 .3em 0 0;vertical-align:-.05em}\n"
    "footer{margin-top:4rem;color:var(--soft);font-size:.85rem}\n";

/* --- Text ------------------------------------------------------------------
 */

static const char *escape_of(unsigned char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void page_text(FILE *out, const char *text)
{
    char shown[GSV_VISIBLE];
    for (size_t n; (n = gsv_visible(text, shown)); text += n) {
        const char *escape = escape_of((unsigned char)*text);
        if (*text == '\n' || *text == '\t') putc(*text, out);
        else fputs(escape ? escape : shown, out);
    }
}

void page_lines(FILE *out, const char *text)
{
    int n;
    for (const char *line; (line = next_line(&text, &n));) {
        char room[1024];
        snprintf(room, sizeof room, "%.*s", n, line);
        fputs("<li>", out);
        page_text(out, room);
        fputs("</li>\n", out);
    }
}

char *captured(const struct report *r,
               void (*put)(const struct report *r, FILE *to))
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory) put(r, memory);
    if (memory && !fclose(memory)) return text;
    free(text);
    complain_memory();
    return NULL;
}

const char *time_text(const struct report *r, double time, char room[TIME_ROOM])
{
    double day = floor(time), seconds = 86400.0 * (time - day);
    bool date = r->dates && fabs(time) < 2.9e6; /* years of four digits */
    time_t at = date ? (time_t)(86400.0 * day + seconds + 0.5) : 0;
    struct tm tm;
    date = date && gmtime_r(&at, &tm);
    const char *form = seconds < 1.0 ? "%Y-%m-%d" : "%Y-%m-%d %H:%M";
    if (!date || !strftime(room, TIME_ROOM, form, &tm))
        snprintf(room, TIME_ROOM, "%.6g", time);
    return room;
}

/* --- The page ---------------------------------------------------------------
 */

void page_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
          "'none'; style-src 'unsafe-inline'\">\n<title>",
          out);
    page_text(out, title);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
            STYLE);
}

void page_end(FILE *out)
{
    fprintf(out,
            "<footer>Written by girsanov %s. The page needs no network and "
            "runs no scripts.</footer>\n</main>\n</body>\n</html>\n",
            gsv_version());
}

/* --- Tables ------------------------------------------------------------------
 */

void page_table(FILE *out, const char *names)
{
    fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
    for (size_t n; *names; names += n + (names[n] == '|')) {
        n = strcspn(names, "|");
        fprintf(out, "<th>%.*s</th>", (int)n, names);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

void page_table_end(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

void page_name(FILE *out, const char *text)
{
    fputs("<td>", out);
    page_text(out, text);
    fputs("</td>", out);
}

void page_number(FILE *out, double x, int figures)
{
    if (isnan(x)) fputs("<td>&ndash;</td>", out);
    else fprintf(out, "<td>%.*g</td>", figures, x);
}
