/** A quality report as one HTML file without scripts. */

import { belowIncoming } from '@tidewheel/contract/bucket-keys.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { quantile, type StoredDistribution } from './distribution.ts';
import { percent } from './drift.ts';
import { type Html, html, htmlPage, type ReportColumn, tableOfRows } from './html.ts';
import type { ClassRow, QualityReport, Shift } from './report-document.ts';
import { DISTRIBUTIONS } from './tally.ts';
import { asNamedTexts, notTrainedOnTexts } from './unexpected.ts';

/** Data URLs by key. */
export type Pictures = ReadonlyMap<string, string>;

const MOST_CLASSES_SHOWN = 200;

export function reportPage(report: QualityReport, pictures: Pictures): string {
  const { generation, arrivals, generationTally: own, versionTally: all, before } = report;
  const then = before.length === 0 ? 'There is no version before.' : `Compared with ${before.join(', ')}.`;
  return htmlPage(
    `Quality of ${generation}`,
    html`${heldPart(report)}
<p>${own.samples} samples and ${own.copies} copies in this generation; ${all.samples} samples in the version.
${arrivals.objects} objects arrived: ${arrivals.packed} packed, ${arrivals.rejected} rejected, ${arrivals.deferred} left
to the next run. ${then}</p>
${[...notTrainedOnTexts(report), ...asNamedTexts(report)].map((text) => html`<p>${text}.</p>`)}
${splitPart(report)}
${classPart(report)}
${ownLabelPart(report)}
${columnPart(report)}
${unpreparedPart(report)}
${faultyPart(report)}
${headerPart(report)}
${duplicatePart(report)}
${rejectionPart(report, pictures)}
${leftPart(report)}
${driftPart(report)}`,
  );
}

const heldPart = ({ held }: QualityReport): Html =>
  held.length === 0
    ? html``
    : html`<div class="held"><p><b>Training is held back.</b></p><ul>${held.map((one) => html`<li>${one}</li>`)}</ul></div>`;

const number = <Row>(head: string, cell: (row: Row) => number | string | undefined): ReportColumn<Row> => ({
  head,
  isNumber: true,
  cell,
});

function classPart({ classes, alike = [] }: QualityReport): Html {
  if (classes === undefined) return html`<h2>Classes</h2><p>The labels are too many to be classes.</p>`;
  const columns: readonly ReportColumn<ClassRow>[] = [
    { head: 'class', cell: ({ name }) => html`<bdi>${name}</bdi>` },
    ...(classes.some(({ arrived }) => arrived !== undefined)
      ? [number<ClassRow>('arrived', ({ arrived }) => arrived)]
      : []),
    number('packed', ({ packed }) => packed),
    number('copies', ({ copies }) => copies),
    number('version before', (row) => row.before),
    number('version now', ({ now }) => now),
    number('share before', ({ shareBefore }) => `${percent(shareBefore)} %`),
    number('share now', ({ shareNow }) => `${percent(shareNow)} %`),
  ];
  const single = classes.filter(({ now }) => now === 1).length;
  const more = classes.length - MOST_CLASSES_SHOWN;
  return html`<h2>Classes</h2>
${tableOfRows(classes.slice(0, MOST_CLASSES_SHOWN), columns, 'No sample has a label.')}
${more > 0 ? html`<p>And ${more} more in report.json.</p>` : html``}
${single > 0 ? html`<p>${single} with a single sample.</p>` : html``}
${alike.slice(0, MOST_CLASSES_SHOWN).map((names) => html`<p>These may be one class: <bdi>${names.map(quoted).join(', ')}</bdi>. The shards hold them as ${names.length}.</p>`)}`;
}

function ownLabelPart({ pipeline, generationTally: { ownLabels } }: QualityReport): Html {
  if (ownLabels === undefined) return html``;
  const { samples, differing, examples } = ownLabels;
  return html`<p>${samples} samples of this generation brought their class in a label file (.cls), which wins. The
declaration gives ${differing} of them another class.</p>
${
  differing === 0
    ? html``
    : tableOfRows(
        examples,
        [
          {
            head: 'such as',
            cell: ({ key }) => html`<code><bdi>${belowIncoming(pipeline, key)}</bdi></code>`,
          },
          { head: 'its label file', cell: ({ label }) => html`<bdi>${label}</bdi>` },
          { head: 'folder, name or annotation', cell: ({ declared }) => html`<bdi>${declared}</bdi>` },
        ],
        '',
      )
}`;
}

function splitPart({ pipeline, splits }: QualityReport): Html {
  if (splits === undefined) return html``;
  type Row = (typeof splits.counts)[number];
  return html`<h2>Splits</h2>
${tableOfRows<Row>(
  splits.counts,
  [
    { head: 'split', cell: ({ name }) => name },
    number('packed', ({ packed }) => packed),
    number('copies', ({ copies }) => copies),
    number('version now', ({ now }) => now),
    number('share', ({ share }) => `${percent(share)} %`),
  ],
  'There are no samples.',
)}
${splits.leaks.map(
  ({ split, other, samples, examples }) =>
    html`<p>${samples} samples of ${split} have the bytes of samples of ${other}.
<code><bdi>${examples.map((key) => belowIncoming(pipeline, key)).join('  ')}</bdi></code></p>`,
)}`;
}

function columnPart({ versionTally: { columns }, channels }: QualityReport): Html {
  const rows = Object.entries(columns).flatMap(([name, column]) =>
    DISTRIBUTIONS.flatMap((measure) => {
      const values = column[measure];
      return values === undefined ? [] : [{ name: `${name}: ${measure}`, values }];
    }),
  );
  const at = (head: string, part: number) =>
    number<{ readonly values: StoredDistribution }>(head, ({ values }) => shown(quantile(values, part)));
  return html`<h2>Sizes in the version</h2>
${tableOfRows(
  rows,
  [
    { head: 'column', cell: ({ name }) => name },
    number('members', ({ values }) => values.count),
    at('least', 0),
    at('5 %', 0.05),
    at('median', 0.5),
    at('95 %', 0.95),
    at('most', 1),
  ],
  'There are no members.',
)}
<p><small>Bytes, pixels, seconds and counts. Quantiles are at most 9 % too low. Widths, heights and durations are what the
headers say.</small></p>
${channels === undefined ? html`` : html`<p>Channels of the prepared images, from 0 to 1: mean ${channels.mean.join(', ')}; standard deviation ${channels.std.join(', ')}.</p>`}`;
}

const shown = (value: number): number => Math.round(value * 1_000) / 1_000;

function duplicatePart({ pipeline, duplicates, near, shared, notCompared }: QualityReport): Html {
  const { within, earlier, conflicting, examples } = duplicates;
  return html`<h2>Duplicates</h2>
<p>${within} samples repeat the bytes of another one in this generation, and ${earlier} those of another generation.
In ${conflicting} groups the labels differ.</p>
${tableOfRows(
  examples,
  [
    { head: 'SHA-256 begins', cell: ({ digest }) => html`<code>${digest}</code>` },
    { head: 'samples', isNumber: true, cell: ({ samples }) => samples },
    { head: 'labels', cell: ({ labels }) => labels.join(', ') },
    {
      head: 'such as',
      cell: ({ keys }) =>
        html`<code><bdi>${keys.map((key) => belowIncoming(pipeline, key)).join('  ')}</bdi></code>`,
    },
  ],
  'No two samples of this generation have the same bytes.',
)}
${shared.map(({ pipeline: other, samples }) => html`<p>The pipeline ${other} holds the bytes of ${samples} of them too.</p>`)}
${notCompared.length === 0 ? html`` : html`<p>Not compared with ${notCompared.join(', ')}: only so many pipelines and samples are.</p>`}
${
  near === undefined
    ? html``
    : html`<h2>Images that look alike</h2><p>${near.isLowerBound ? 'At least ' : ''}${near.images}
prepared images have a perceptual hash (dHash) within 3 of 64 bits of another one with other bytes. That is a hint, not a
proof.</p><ul>${near.examples.map(([a, b]) => html`<li><code><bdi>${belowIncoming(pipeline, a)}</bdi> <bdi>${belowIncoming(pipeline, b)}</bdi></code></li>`)}</ul>`
}`;
}

function rejectionPart({ pipeline, rejections }: QualityReport, pictures: Pictures): Html {
  const reasons = Object.entries(rejections.byReason).sort(([a], [b]) => (a < b ? -1 : 1));
  if (reasons.length === 0) return html`<h2>Rejections</h2><p>Nothing was rejected.</p>`;
  return html`<h2>Rejections</h2>
${reasons.map(([reason, count]) => {
  const some = rejections.examples[reason] ?? [];
  return html`<h3>${reason}: ${count}</h3><ul class="sheet">${some.map(({ key, size }) => {
    const picture = pictures.get(key);
    return html`<li>${picture === undefined ? html`` : html`<img alt="" src="${picture}"><br>`}<code><bdi>${belowIncoming(pipeline, key)}</bdi></code> <small>${size} bytes</small></li>`;
  })}</ul>`;
})}`;
}

function unpreparedPart({ unprepared }: QualityReport): Html {
  const counts = Object.entries(unprepared);
  if (counts.length === 0) return html``;
  return html`<p>Images that were left as they came, because packing.prepare.image does not name their column:
${counts.map(([column, count], index) => html`${index === 0 ? '' : ', '}<bdi>${column}</bdi> (${count})`)}.</p>`;
}

function faultyPart({ pipeline, generationTally: { columns } }: QualityReport): Html {
  const shownKeys = (keys: readonly string[]): Html =>
    html`<code><bdi>${keys.map((key) => belowIncoming(pipeline, key)).join('  ')}</bdi></code>`;
  const parts = Object.entries(columns).flatMap(([name, { faulty }]) => {
    if (faulty === undefined) return [];
    const { notText, notJson, brokenLines, unread = 0, examples } = faulty;
    return [
      ...(unread > 0
        ? [
            html`<p><bdi>${name}</bdi>: ${unread} large texts were copied by S3 and not looked at.
With packing.reject they are read.</p>`,
          ]
        : []),
      ...(notText > 0
        ? [html`<p><bdi>${name}</bdi>: ${notText} texts are no UTF-8. ${shownKeys(examples.notText)}</p>`]
        : []),
      ...(notJson > 0
        ? [
            html`<p><bdi>${name}</bdi>: ${brokenLines} lines or documents in ${notJson} members are no JSON.
${shownKeys(examples.notJson)}</p>`,
          ]
        : []),
    ];
  });
  return parts.length === 0 ? html`` : html`<h2>Texts with faults</h2>${parts}`;
}

function headerPart({ pipeline, headers }: QualityReport): Html {
  if (headers === undefined) return html``;
  const { looked, alike, example } = headers;
  return html`<h2>Headers</h2><p>${alike} of ${looked} sources that were looked at begin with a line that looks like a
header, and with packing.lines.header: none it is packed as a row: write perShard or drop.
<code><bdi>${belowIncoming(pipeline, example.key)}</bdi></code> begins with <code><bdi>${example.line}</bdi></code>.</p>`;
}

function leftPart({ pipeline, left }: QualityReport): Html {
  if (left === undefined) return html``;
  const reasons = Object.entries(left.byReason).sort(([a], [b]) => (a < b ? -1 : 1));
  const codes = Object.entries(left.byCode ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return html`<h2>Left to the next run</h2>
<p>${reasons.map(([reason, count], index) => `${index === 0 ? '' : ', '}${reason}: ${count}`)}.
${codes.length === 0 ? '' : `S3 answered ${codes.map(([code, count]) => `${code} (${count})`).join(', ')}.`}
${left.since === undefined ? '' : `The first waits since ${left.since}.`}</p>
${tableOfRows(
  left.examples,
  [
    { head: 'such as', cell: ({ key }) => html`<code><bdi>${belowIncoming(pipeline, key)}</bdi></code>` },
    { head: 'reason', cell: ({ reason }) => reason },
    { head: 'S3', cell: ({ code }) => code },
    { head: 'since', cell: ({ since }) => since },
  ],
  '',
)}`;
}

function driftPart({ drift, before }: QualityReport): Html {
  if (before.length === 0) return html``;
  const columns = (head: string, unit: string): readonly ReportColumn<Shift>[] => [
    { head, cell: ({ what }) => html`<bdi>${what}</bdi>` },
    number('before', (row) => `${shown(row.before)}${unit}`),
    number('now', ({ now }) => `${shown(now)}${unit}`),
  ];
  return html`<h2>Drift against the version before</h2>
${tableOfRows(drift.classes, columns('share of class', ' %'), 'The shares of the classes are the same.')}
${tableOfRows(drift.medians, columns('median', ''), 'No median changed by more than a tenth.')}`;
}
