/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BINS_PER_DECADE 20
#define BIN_COUNT (BINS_PER_DECADE * 10) /* 1 ns .. 10 s */
#define PANELS_MAX 8

static size_t bin_of(uint64_t sample_ns)
{
	double bin = log10((double)(sample_ns == 0 ? 1 : sample_ns)) *
		     BINS_PER_DECADE;

	return bin >= BIN_COUNT ? BIN_COUNT - 1 : (size_t)bin;
}

static void side_write(FILE *gnuplot, const struct bench_side_result *side,
		       size_t panel, size_t index)
{
	size_t bins[BIN_COUNT] = { 0 };

	for (size_t i = 0; i < side->sample_count; i++)
		bins[bin_of(side->samples[i])]++;
	fprintf(gnuplot, "$d%zu_%zu << EOD\n", panel, index);
	for (size_t i = 0; i < BIN_COUNT; i++)
		if (bins[i] != 0)
			fprintf(gnuplot, "%g %g\n",
				pow(10.0, ((double)i + 0.5) / BINS_PER_DECADE) /
					1e3,
				(double)bins[i] / (double)side->sample_count);
	fprintf(gnuplot, "EOD\n");
}

static void panel_write(FILE *gnuplot, const struct bench_measurement *m,
			size_t panel)
{
	for (size_t i = 0; i < m->side_count; i++)
		side_write(gnuplot, &m->sides[i], panel, i);
	fprintf(gnuplot, "set title '%s'\nplot ", m->name);
	for (size_t i = 0; i < m->side_count; i++)
		fprintf(gnuplot,
			"%s$d%zu_%zu using 1:2 with linespoints pt 7 ps 0.5 "
			"title '%s'",
			i == 0 ? "" : ", ", panel, i, m->sides[i].name);
	fprintf(gnuplot, "\n");
}

static bool has_samples(const struct bench_measurement *m)
{
	return m->side_count > 0 && m->sides[0].samples != NULL;
}

int bench_plot_write(const struct bench_report *report, const char *path)
{
	FILE *gnuplot;
	size_t panels = 0;

	if (strpbrk(path, "'\\\n") != NULL)
		return -EINVAL;
	for (size_t i = 0; i < report->measurement_count; i++)
		if (has_samples(&report->measurements[i]) && panels < PANELS_MAX)
			panels++;
	if (panels == 0)
		return -ENOENT;
	gnuplot = popen("gnuplot", "w");
	if (gnuplot == NULL)
		return -errno;
	fprintf(gnuplot,
		"set terminal pngcairo noenhanced size 900,%zu\nset output '%s'\n"
		"set multiplot layout %zu,1\nset logscale xy\nset grid\n"
		"set xlabel 'latency (us)'\nset ylabel 'share of samples'\n",
		panels * 330, path, panels);
	for (size_t i = 0, panel = 0; panel < panels; i++)
		if (has_samples(&report->measurements[i]))
			panel_write(gnuplot, &report->measurements[i], panel++);
	fprintf(gnuplot, "unset multiplot\n");
	return pclose(gnuplot) == 0 ? 0 : -EIO;
}
