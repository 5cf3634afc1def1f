/* SPDX-License-Identifier: MIT */
/* girsanov VERB MODEL [DATA] [options] */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "ranks.h"

const struct verb VERBS[] = {
    {CHECK, "check", "MODEL [DATA]", "explain a model; check its gradient",
     "Reads a model and prints what it stands for: states, parameters, noise,\n"
     "the map to unit diffusion, and which estimator loglik would use and\n"
     "why. With data, also the work and the memory of one gradient.\n"
     "--gradient compares the gradient with finite differences under the same\n"
     "random numbers, on the data or on simulated ones. The exit code is 1\n"
     "where loglik would refuse the model, and what the likelihood does not\n"
     "depend on is named in warnings.\n",
     "  girsanov check lorenz.sde\n"
     "  girsanov check lorenz.sde data.csv --gradient\n",
     true, true, false, false, check_run},
    {SIMULATE, "simulate", "MODEL", "draw sample paths as CSV",
     "Draws tracks of the SDE at the times asked for. Start values are exact,\n"
     "in the columns of the data; '--x0 normal' draws the states from the\n"
     "standard normal law, again where they are outside of their domain.\n"
     "Observations (obs) are drawn from their laws in every row; latent\n"
     "states are written, too, and start by their init without --x0.\n"
     "Of a fit with a gp every track has a function of its own, drawn from "
     "the\n"
     "posterior.\n",
     "  girsanov simulate lorenz.sde -o data.csv --times 0:10:200\n"
     "  girsanov simulate lorenz.sde --tracks 16 --x0 normal --set q=0.15\n",
     false, false, false, false, simulate_run},
    {LOGLIK, "loglik", "MODEL DATA", "log-likelihood of data, and its gradient",
     "Estimates log p(data | first row of each series) without integrating "
     "the\n"
     "SDE: bridges are sampled through the data and weighed by Girsanov's\n"
     "theorem. Prints the standard error, the smallest effective number of\n"
     "paths, and the change when the steps are twice as long.\n",
     "  girsanov loglik lorenz.sde data.csv\n"
     "  girsanov loglik lorenz.sde data.csv --paths 256 --step 0.005 "
     "--gradient\n"
     "  girsanov loglik lorenz.sde data.csv --paper --json\n",
     true, false, false, true, loglik_run},
    {FIT, "fit", "MODEL DATA -o FIT", "learn a model's parameters from data",
     "Learns all parameters, networks included, by the likelihood, and writes\n"
     "the model with what was learned: FIT can stand wherever a MODEL can, "
     "and\n"
     "is then the start of another fit, too. Parameters start at what the "
     "data\n"
     "suggest, unless --set or --fix says otherwise. Ctrl-C saves the state "
     "and\n"
     "exits with code 130; the same command with --resume goes on.\n"
     "'--method gibbs' draws from the posterior instead, for formulas.\n",
     "  girsanov fit lorenz.sde data.csv -o lorenz.fit\n"
     "  girsanov fit lorenz.sde data.csv -o lorenz.fit --fix b=2.667\n"
     "  girsanov fit net.sde data.csv -o net.fit --time-limit 600 --trace "
     "t.csv\n"
     "  girsanov fit net.sde data.csv -o net.fit --resume\n"
     "  girsanov fit ou.sde data.csv -o ou.fit --method gibbs --prior "
     "'k~gamma(2,1)'\n",
     true, false, false, true, fit_run},
    {SUMMARY, "summary", "FIT", "what was learned, how, from which data",
     "Prints a fit's record: log-likelihood, estimates with standard errors\n"
     "and 95 % intervals, and the correlation of the estimates.\n",
     "  girsanov summary lorenz.fit\n"
     "  girsanov summary lorenz.fit --json\n",
     false, false, false, false, summary_run},
    {FIELD, "field", "MODEL [DATA]", "drift and diffusion at points, as CSV",
     "Evaluates the drift and the diffusion on a grid or at the points of a\n"
     "file: the coordinates, then drift_x for every state x, then\n"
     "diffusion_x_j, by which dWj moves x; for fits with a gp drift_sd_x, "
     "what\n"
     "is not known of drift_x. Without --grid and --at, the grid covers the\n"
     "range of DATA, or of the data a fit was learned from. --plot draws it,\n"
     "with the points of DATA; then the CSV needs -o.\n",
     "  girsanov field lorenz.fit -o field.csv\n"
     "  girsanov field cell.sde --grid x=-3:3:50,y=0:10:20\n"
     "  girsanov field cell.fit data.csv --plot field.svg\n",
     true, true, false, false, field_run},
    {PROFILE, "profile", "FIT DATA --param NAME",
     "profile likelihood of a parameter",
     "Holds one number at several values and maximises the log-likelihood "
     "over\n"
     "all others. Prints its drop below the largest, and the 95 % interval:\n"
     "where the drop is below 1.92.\n",
     "  girsanov profile lorenz.fit data.csv --param r\n"
     "  girsanov profile pair.fit data.csv --param 'A[1,2]' --range -1:1\n",
     true, false, false, true, profile_run},
    {COMPARE, "compare", "MODEL... DATA", "models side by side on one data set",
     "Estimates the log-likelihood of the data under every model or fit, the\n"
     "best first: difference to the best, with the standard error from the\n"
     "differences gap by gap, and AIC. Data that no model was learned from\n"
     "tell most.\n",
     "  girsanov compare linear.fit net.fit test.csv\n"
     "  girsanov compare a.fit b.fit c.fit test.csv --paths 256 --json\n",
     true, false, true, true, compare_run},
    {PATHS, "paths", "MODEL DATA", "what the states were, between the data too",
     "Estimates the states given all data, at the rows and between them:\n"
     "mean, deviation and quantiles of every state, as CSV. Where states are\n"
     "observed exactly, between two rows they are bridges; where they are\n"
     "latent, they are smoothed. With --draws, sample paths of equal weight\n"
     "instead, which pass through all that was observed exactly.\n",
     "  girsanov paths lorenz.fit data.csv -o bands.csv\n"
     "  girsanov paths lorenz.fit data.csv --draws 20 -o paths.csv\n"
     "  girsanov paths cell.fit data.csv --times 0:10:501 --plot paths.svg\n",
     true, false, false, false, paths_run},
    {DIAGNOSE, "diagnose", "MODEL DATA",
     "where the estimate is not to be trusted",
     "Runs the estimate of loglik and looks at every gap: how many paths "
     "carry\n"
     "the weight, how heavy the weights' tail is (Pareto k-hat), how much the\n"
     "log-likelihood moves when the steps double. Names the gaps that fail "
     "and\n"
     "says what would help. Then looks at the model itself: where each row\n"
     "stands in the law that the rows before it give (residuals, uniform and\n"
     "independent for the true model), each column by itself.\n",
     "  girsanov diagnose lorenz.sde data.csv\n"
     "  girsanov diagnose lorenz.sde data.csv --reference brownian --strict\n",
     true, false, false, true, diagnose_run},
    {PREDICT, "predict", "MODEL DATA", "forecasts, and how good they are",
     "Draws what comes after the end of every series, and prints mean, "
     "standard\n"
     "deviation and quantiles of each state and of each observed column, "
     "noise\n"
     "of the observations included. With --against or --from rows that came\n"
     "later are forecast and scored: CRPS, in the column's unit and the less\n"
     "the better, next to that of the climatological forecast (the law of all\n"
     "known rows), and how many rows the 50 % and 90 % intervals cover.\n"
     "--rolling scores forecasts from every row. Inputs are those of the "
     "data,\n"
     "then of --inputs, and are held behind their end. Parameters are taken "
     "as\n"
     "they are; --parameters draws them by a fit's covariance. Functions of a "
     "gp\n"
     "are drawn from the fit's posterior, one for each draw.\n",
     "  girsanov predict lorenz.fit data.csv --ahead 2 -o ahead.csv\n"
     "  girsanov predict lorenz.fit data.csv --from 8 --plot ahead.svg\n"
     "  girsanov predict lorenz.fit data.csv --rolling 5\n",
     true, false, false, false, predict_run},
    {REPORT, "report", "FIT DATA -o PAGE", "all of it on one page, as HTML",
     "Writes one page that opens in any browser, without a server or a "
     "network:\n"
     "whether the answer is to be trusted, what was fitted to what, the "
     "learning\n"
     "curve, parameters with intervals, drift and diffusion, the data with\n"
     "sample paths and a forecast, the health of every gap's weights, "
     "residuals,\n"
     "and the commands that give the same numbers. Figures need gnuplot; "
     "without\n"
     "it the page has its tables, and says so.\n",
     "  girsanov report lorenz.fit data.csv -o report.html\n"
     "  girsanov report lorenz.fit data.csv -o report.html --paths 256 "
     "--json\n",
     true, false, false, false, report_run},
    {GRADVAR, "gradvar", "MODEL DATA", "how noisy gradients are",
     "Takes the gradient of several objectives with other random numbers "
     "again\n"
     "and again, at the model's parameters, and prints the variance of each "
     "of\n"
     "its numbers: the smallest, the median and the largest of them. The\n"
     "objectives are the log-likelihood with different bridges (auto, lna,\n"
     "linear, brownian; paper is Algorithm 1 as published) and minus the\n"
     "squared error of simulated paths (mse-...), both a gap's mean. --gaps "
     "puts\n"
     "the rows at equal distances, one after the other. Gradients that are "
     "not\n"
     "finite are counted as overflows and left out. Ctrl-C reports what is "
     "done.\n",
     "  girsanov gradvar net.sde data.csv --gaps 0.1,1,10 --step 0.1\n"
     "  girsanov gradvar net.sde data.csv --init he --objectives "
     "auto,mse-adjoint\n"
     "  girsanov gradvar ou.sde data.csv -o table.csv --plot gradvar.svg\n",
     true, false, false, false, gradvar_run},
};
const size_t VERB_COUNT = sizeof VERBS / sizeof *VERBS;

static void usage(FILE *out)
{
    fputs("usage: girsanov VERB MODEL [DATA] [options]\n\n"
          "Learns stochastic differential equations from time series.\n\n",
          out);
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(out, "  %-10s %s\n", VERBS[i].name, VERBS[i].summary);
    fputs("\n'girsanov VERB --help' explains a verb, with examples.\n"
          "'girsanov --version' prints the version. After '--' all words are "
          "files.\n",
          out);
}

const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (!strcmp(VERBS[i].name, name)) return &VERBS[i];
    return NULL;
}

static int unknown_verb(const char *name)
{
    const char *candidate[sizeof VERBS / sizeof *VERBS];
    for (size_t i = 0; i < VERB_COUNT; i++)
        candidate[i] = VERBS[i].name;
    const char *best = gsv_suggestion(name, VERB_COUNT, candidate);
    if (!access(name, F_OK))
        return complain(EXIT_INPUT,
                        "'%s' is a file, but the verb comes first: girsanov "
                        "VERB %s; 'girsanov --help' lists them",
                        name, name);
    if (best)
        return complain(EXIT_INPUT, "there is no verb '%s'; did you mean '%s'?",
                        name, best);
    return complain(EXIT_INPUT,
                    "there is no verb '%s'; 'girsanov --help' lists them",
                    name);
}

static bool asks_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h") ||
           !strcmp(word, "help");
}

/* What is no verb: for people, and for those who build and install. */
static int run_word(int count, char **word)
{
    const struct verb *verb = count > 2 ? find_verb(word[2]) : NULL;
    bool help = asks_help(word[1]);
    if (help && count > 2 && asks_help(word[2])) count = 2;
    bool manual = !strcmp(word[1], "--man");
    if ((help || manual) && count > 2 && !verb) return unknown_verb(word[2]);
    if (manual) manual_page(verb, stdout);
    else if (help && verb) options_help(verb, stdout);
    else if (help) usage(stdout);
    else if (!strcmp(word[1], "--version") || !strcmp(word[1], "version"))
        say(stdout, "girsanov %s\n", gsv_version());
    else if (!strcmp(word[1], "--complete"))
        complete((size_t)count - 2, word + 2, stdout);
    else return unknown_verb(word[1]);
    return EXIT_DONE;
}

static int run(int count, char **word)
{
    if (count < 2) {
        usage(stderr);
        return EXIT_INPUT;
    }
    const struct verb *verb = find_verb(word[1]);
    if (!verb) return run_word(count, word);
    if (!ranks_needed(verb)) return EXIT_DONE;
    struct args a;
    int code = options_parse(verb, count - 2, word + 2, &a);
    if (!code && a.help) options_help(verb, stdout);
    else if (!code) code = ranks_run(verb, &a);
    options_free(&a);
    return code;
}

/* A descriptor that is closed would be given to the next file that is opened,
 * and what is printed would be written into it. Reading from the stand-ins, or
 * writing results to one, is an error; messages are lost, as was asked for. */
static void fill_descriptors(void)
{
    static const int MODES[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", MODES[i]) != i)
            exit(EXIT_INPUT);
}

int main(int count, char **word)
{
    fill_descriptors();
    ranks_hush();
    int code = ranks_end(run(count, word));
    bool printed =
        code == EXIT_DONE || code == EXIT_STRICT || code == EXIT_INTERRUPTED;
    errno = 0;
    if (printed && (fflush(stdout) || ferror(stdout)))
        return complain(EXIT_INPUT, "cannot write to standard output%s%s",
                        errno ? ": " : "", errno ? strerror(errno) : "");
    return code;
}
