/* SPDX-License-Identifier: MIT */
/* girsanov VERB MODEL [DATA] [options] */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

const struct verb VERBS[] = {
    {CHECK, "check", "MODEL [DATA]", "explain a model; check its gradient",
     "Reads a model and prints how it was understood: states, parameters,\n"
     "noise, the map to unit diffusion, and which estimator loglik uses and\n"
     "why. With data, also the time and the memory of one gradient.\n"
     "--gradient compares the gradient with finite differences with the same\n"
     "random numbers, on the data or on simulated data; with particles\n"
     "the means over 16 seeds, against their standard error. Warnings name\n"
     "parts of the model that do not affect the likelihood. The exit code\n"
     "is 1 if loglik would refuse the model, 2 if the gradient is wrong.\n",
     "  girsanov check lorenz.sde\n"
     "  girsanov check lorenz.sde data.csv --gradient\n",
     true, true, false, false, check_run},
    {SIMULATE, "simulate", "MODEL", "simulate sample paths as CSV",
     "Simulates tracks of the SDE at the given times. Start values are in\n"
     "the columns of the data; '--x0 normal' draws the states from the\n"
     "standard normal law, restricted to their domain. Observations (obs)\n"
     "are drawn from their laws in every row. Latent states are written,\n"
     "too; without --x0 they start from their init. With a fit of a gp each\n"
     "track has its own function, drawn from the posterior. The schemes\n"
     "gillespie and tau-leap simulate reactions in whole numbers.\n",
     "  girsanov simulate lorenz.sde -o data.csv --times 0:10:200\n"
     "  girsanov simulate lorenz.sde --tracks 16 --x0 normal --set q=0.15\n",
     false, false, false, false, simulate_run},
    {LOGLIK, "loglik", "MODEL DATA", "log-likelihood of data, and its gradient",
     "Estimates log p(data | first row of each series) without integrating\n"
     "the SDE: bridges are sampled through the data and weighted by\n"
     "Girsanov's theorem. Prints the standard error, the smallest effective\n"
     "number of paths, and the change when the steps are twice as long.\n",
     "  girsanov loglik lorenz.sde data.csv\n"
     "  girsanov loglik cell.sde data.csv --paths 256 --step 0.01 --gradient\n"
     "  girsanov loglik lorenz.sde data.csv --paper --json\n",
     true, false, false, true, loglik_run},
    {FIT, "fit", "MODEL DATA -o FIT", "learn a model's parameters from data",
     "Learns all parameters, including networks, by the likelihood, and\n"
     "writes the model with the learned values. FIT can be used wherever a\n"
     "MODEL can, also as the start of another fit. Parameters start at\n"
     "values estimated from the data, unless --set or --fix gives a value.\n"
     "Ctrl-C saves the state and exits with code 130; the same command with\n"
     "--resume continues. '--method gibbs' draws from the posterior instead,\n"
     "for models without networks.\n",
     "  girsanov fit lorenz.sde data.csv -o lorenz.fit\n"
     "  girsanov fit lorenz.sde data.csv -o lorenz.fit --fix b=2.667\n"
     "  girsanov fit net.sde data.csv -o net.fit --time-limit 600 --trace "
     "t.csv\n"
     "  girsanov fit net.sde data.csv -o net.fit --resume\n"
     "  girsanov fit ou.sde data.csv -o ou.fit --method gibbs --prior "
     "'k~gamma(2,1)'\n",
     true, false, false, true, fit_run},
    {SELECT, "select", "MODEL DATA -o FIT",
     "find out which terms are in the data",
     "Finds out which coefficients of a library ('terms f(x) -> 1 : poly 3')\n"
     "are not zero, and writes the fit of the model with these alone. Terms\n"
     "are added by score tests and removed by Wald tests, sets of terms are\n"
     "refitted, and the best log-likelihood minus cost is selected; the cost\n"
     "grows with the size of the library. Prints the functions with standard\n"
     "errors; for each coefficient its evidence, the log-likelihood that is\n"
     "lost without it or gained with it, and the share of resampled data that\n"
     "select it; and the models that were fitted, the best first. Parameters\n"
     "outside of terms, and coefficients with --fix, are always in the "
     "model.\n",
     "  girsanov select library.sde data.csv -o lorenz.fit\n"
     "  girsanov select library.sde data.csv -o a.fit --fix 'f[1].1=0'\n"
     "  girsanov select library.sde data.csv -o a.fit --together term\n",
     true, false, false, true, select_run},
    {SUMMARY, "summary", "FIT", "print a fit: estimates, errors, data",
     "Prints the record of a fit: log-likelihood, estimates with standard\n"
     "errors and 95 % intervals, and the correlation of the estimates.\n"
     "--plot draws the learning curve.\n",
     "  girsanov summary lorenz.fit\n"
     "  girsanov summary lorenz.fit --plot -\n"
     "  girsanov summary lorenz.fit --json\n",
     false, false, false, false, summary_run},
    {FIELD, "field", "MODEL [DATA]", "drift and diffusion at points, as CSV",
     "Evaluates the drift and the diffusion on a grid or at the points of a\n"
     "file: the coordinates, then drift_x for each state x, then\n"
     "diffusion_x_j, the factor of dWj in the equation of x. For fits with a\n"
     "gp, drift_sd_x is the standard deviation of drift_x. The default grid\n"
     "covers the range of DATA, or of the data that a fit was learned from.\n"
     "--plot draws a figure, with the points of DATA; then the CSV needs -o.\n",
     "  girsanov field lorenz.fit -o field.csv\n"
     "  girsanov field cell.sde --grid x=-3:3:50,y=0:10:20\n"
     "  girsanov field cell.fit data.csv --plot field.svg\n",
     true, true, false, false, field_run},
    {PROFILE, "profile", "FIT DATA --param NAME",
     "profile likelihood of a parameter",
     "Fixes one parameter at several values and maximises the\n"
     "log-likelihood over all others. Prints the drop below the maximum and\n"
     "the 95 % interval, in which the drop is below 1.92.\n",
     "  girsanov profile lorenz.fit data.csv --param r\n"
     "  girsanov profile pair.fit data.csv --param 'A[1,2]' --range -1:1\n",
     true, false, false, true, profile_run},
    {COMPARE, "compare", "MODEL... DATA", "compare models on one data set",
     "Estimates the log-likelihood of the data under each model or fit and\n"
     "lists the best first: the difference to the best with its standard\n"
     "error, computed from the differences of the gaps, and AIC. Use data\n"
     "that no model was learned from, if possible.\n",
     "  girsanov compare linear.fit net.fit test.csv\n"
     "  girsanov compare a.fit b.fit c.fit test.csv --paths 256 --json\n",
     true, false, true, true, compare_run},
    {PATHS, "paths", "MODEL DATA", "estimate the states, also between rows",
     "Estimates the states given all data, at the rows and between them:\n"
     "mean, standard deviation and quantiles of each state, as CSV. States\n"
     "that are observed exactly are bridges between two rows; latent states\n"
     "are smoothed. --draws writes sample paths of equal weight instead,\n"
     "which pass through all exact observations.\n",
     "  girsanov paths lorenz.fit data.csv -o bands.csv\n"
     "  girsanov paths lorenz.fit data.csv --draws 20 -o paths.csv\n"
     "  girsanov paths cell.fit data.csv --times 0:10:501 --plot paths.svg\n",
     true, false, false, false, paths_run},
    {DIAGNOSE, "diagnose", "MODEL DATA", "check the estimate and the model",
     "Runs the estimate of loglik and checks every gap: the effective number\n"
     "of paths, the tail of the weights (Pareto k-hat), and the change of\n"
     "the log-likelihood when the steps are twice as long. Lists the gaps\n"
     "that fail and says what may help. Then checks the model by residuals:\n"
     "the probability of a smaller value of each row given the rows before\n"
     "it, which is uniform and independent for the true model.\n",
     "  girsanov diagnose lorenz.sde data.csv\n"
     "  girsanov diagnose lorenz.sde data.csv --reference brownian --strict\n",
     true, false, false, true, diagnose_run},
    {PREDICT, "predict", "MODEL DATA", "forecasts and their scores",
     "Simulates what follows the end of each series, and prints mean,\n"
     "standard deviation and quantiles of each state and each observed\n"
     "column, including the noise of the observations. With --against or\n"
     "--from later rows are forecast and scored: CRPS in the unit of the\n"
     "column (smaller is better), compared with the climatological forecast\n"
     "(the law of all known rows), and the coverage of the 50 % and 90 %\n"
     "intervals. --rolling scores forecasts from every row. Inputs are those\n"
     "of the data, then of --inputs, and are constant after their last row.\n"
     "Parameters are those of the fit; --parameters draws them from its\n"
     "covariance. Functions of a gp are drawn from the posterior, one for\n"
     "each draw.\n",
     "  girsanov predict lorenz.fit data.csv --ahead 2 -o ahead.csv\n"
     "  girsanov predict lorenz.fit data.csv --from 8 --plot ahead.svg\n"
     "  girsanov predict lorenz.fit data.csv --rolling 5\n",
     true, false, false, false, predict_run},
    {REPORT, "report", "FIT DATA -o PAGE", "all results on one HTML page",
     "Writes one page that opens in any browser, without a server or a\n"
     "network: whether the result can be trusted, the model and its data,\n"
     "the learning curve, parameters with intervals, drift and diffusion,\n"
     "the data with sample paths and a forecast, diagnostics of the weights,\n"
     "residuals, and the commands that give the same numbers. Figures need\n"
     "gnuplot; without it the page has its tables, and says so.\n",
     "  girsanov report lorenz.fit data.csv -o report.html\n"
     "  girsanov report lorenz.fit data.csv -o page.html --paths 256 --json\n",
     true, false, false, false, report_run},
    {SHOW, "show", "FIT [DATA]", "the same page, opened in a browser",
     "Writes the page of report and opens it in the desktop's browser (by\n"
     "xdg-open). Its path is printed, too; on a machine without a display\n"
     "that is all. Without DATA they are those that the fit was learned\n"
     "from, without -o the page is beside the fit.\n",
     "  girsanov show lorenz.fit\n"
     "  girsanov show lorenz.fit data.csv -o page.html\n",
     true, true, false, false, show_run},
    {LOOK, "look", "DATA", "a first look at data, and models to start from",
     "Prints the sampling, gaps, missing cells and scales of the data, and\n"
     "signs of measurement noise, inertia, noise that depends on the state,\n"
     "periods, jumps and gaps that are too long. Then it fits kinds of models\n"
     "to the first 2000 rows of each column, and writes the text of the best,\n"
     "and of one or two others, for 'girsanov fit'.\n",
     "  girsanov look data.csv\n"
     "  girsanov look data.csv -o my.sde --plot data.svg\n",
     false, false, true, false, look_run},
    {NEW, "new", "DATA", "a first model for the columns of a file",
     "Writes a model for the columns of the data, with comments: states,\n"
     "inputs for columns that are known rather than modelled, a number for\n"
     "each level of a column of words, and a linear drift. Comments have what\n"
     "may replace a line: polynomials, a network, a Gaussian process, priors,\n"
     "measurement noise. Columns that a model cannot use are listed with the\n"
     "reason. Nothing is fitted; 'girsanov look' compares models by fits.\n",
     "  girsanov new data.csv > my.sde\n"
     "  girsanov new data.csv -o my.sde --series series\n",
     false, false, true, false, new_run},
    {PHYSICS, "physics", "FIT [DATA]",
     "fixed points, stationary law, passage times, entropy",
     "Prints what follows from a model whose inputs stand still: the fixed\n"
     "points of its drift with their eigenvalues and stability, the\n"
     "stationary law and its distance from the data's histogram, relaxation\n"
     "times, the rate of entropy production, the part of the drift that is a\n"
     "gradient, and the mean first-passage times between two regions, with\n"
     "barriers and Kramers' approximation. The intervals (95 %) are from\n"
     "draws of the fit's parameters. One state is computed by integrals, two\n"
     "by the Fokker-Planck equation on a grid, more by simulated paths. What\n"
     "is outside the data's range is marked with *, and drawn dashed.\n",
     "  girsanov physics well.fit data.csv --plot well.svg\n"
     "  girsanov physics well.fit --from 'x < -0.5' --to 'x > 0.5'\n"
     "  girsanov physics well.fit data.csv --draws 50 -o well\n",
     true, true, false, false, physics_run},
    {GRADVAR, "gradvar", "MODEL DATA", "variance of gradients",
     "Computes the gradient of several objectives repeatedly with different\n"
     "random numbers at the parameters of the model, and prints the variance\n"
     "over repeats: the smallest, the median and the largest over the\n"
     "parameters. The objectives are the log-likelihood with different\n"
     "bridges (auto, lna, linear, brownian; paper is Algorithm 1 as\n"
     "published) and minus the squared error of simulated paths (mse-...),\n"
     "both as the mean per gap. --gaps sets equal distances between the\n"
     "rows. Gradients that are not finite are counted as overflows and left\n"
     "out. Ctrl-C prints the results so far.\n",
     "  girsanov gradvar net.sde data.csv --gaps 0.1,1,10 --step 0.1\n"
     "  girsanov gradvar net.sde data.csv --init he --objectives auto,lna\n"
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
                        "VERB %s; 'girsanov --help' lists the verbs",
                        name, name);
    if (best)
        return complain(EXIT_INPUT, "there is no verb '%s'; did you mean '%s'?",
                        name, best);
    return complain(EXIT_INPUT,
                    "there is no verb '%s'; 'girsanov --help' lists the verbs",
                    name);
}

static bool asks_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h") ||
           !strcmp(word, "help");
}

/* First words other than verbs: help, version, and those for installation. */
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

/* A closed standard descriptor would be reused by the next file that is opened,
 * and printed text would be written into that file. /dev/null replaces it:
 * reading from it, or writing results to it, is an error; messages are lost. */
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
