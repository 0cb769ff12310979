/**
 * The series of a run: what its script printed or logged, over all attempts. The agent writes a file an attempt
 * (training/agent/tidewheel_agent/series/recorder.py); here they become one curve.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readContent, valueOf } from '@tidewheel/contract/document.ts';
import { namePartsOf } from '@tidewheel/contract/files.ts';
import { type SeriesPoint as LoggedPoint, seriesPoint, seriesStart } from '@tidewheel/contract/series.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import * as z from 'zod';
import { readHostFiles } from './host-files.ts';

const seriesPointSchema = z.object({
  /** An epoch may be a fraction. */
  position: z.number().describe('In the unit of its series.'),
  value: z.number().describe('null where the script gave infinity or no number.').nullable(),
  at: time,
  attempt: z.number().int(),
});
type SeriesPoint = Readonly<z.output<typeof seriesPointSchema>>;

export const seriesSchema = z.object({
  /** As the script names it. */
  name: z.string(),
  source: z.string().describe('How the script gave it, such as log or tensorboard.'),
  unit: z.enum(['step', 'epoch']),
  pointCount: z.number().int().describe('Before they were thinned.'),
  /** Positions strictly increase. */
  points: list(seriesPointSchema),
  /** Done again, or still to be. */
  lost: list(seriesPointSchema).describe('What an attempt did past its last checkpoint, before it was lost.'),
});
export type Series = Readonly<Omit<z.output<typeof seriesSchema>, 'pointCount'>>;

/** One start of the script: several on EC2, where an attempt may start again with other hosts. */
interface Session {
  readonly attempt: number;
  readonly resumedFrom?: { readonly step: number; readonly savedAt: number } | null | undefined;
  readonly points: LoggedPoint[];
}

interface Growing {
  readonly name: string;
  readonly source: string;
  readonly unit: Series['unit'];
  points: SeriesPoint[];
  lost: SeriesPoint[];
}

const MOST_SERIES = 500;

/** Scripts write their place beside what they measure, into `metrics.json` too. */
export const isPosition = (name: string): boolean => /^(global_?|total_?)?(step|epoch)s?$/i.test(name);

const measured = (values: LoggedPoint['values']) =>
  Object.entries(values).filter(([name]) => !isPosition(name));

/** Lines that cannot be read, such as one that a kill has cut short, are passed over. */
function sessionsOf(attempt: number, text: string): Session[] {
  const sessions: Session[] = [];
  for (const line of text.split('\n')) {
    const content = parseJson(line);
    const start = valueOf(readContent(seriesStart, content));
    if (start !== undefined) sessions.push({ attempt, resumedFrom: start.resumedFrom, points: [] });
    const point = valueOf(readContent(seriesPoint, content));
    if (point !== undefined) sessions.at(-1)?.points.push(point);
  }
  return sessions;
}

/**
 * A later session that goes on from an earlier position makes what lies past it lost. Until it has come to a series,
 * the checkpoint decides: what was logged after it was saved, and past its step, has to come again.
 */
function joinSeries(sessions: readonly Session[]): Series[] {
  const all = new Map<string, Growing>();
  for (const session of sessions) {
    loseWhatComesAgain(all.values(), session);
    const begun = new Set<string>();
    for (const { source, unit, position, at, values } of session.points)
      for (const [name, value] of measured(values)) {
        const key = JSON.stringify([source, unit, name]);
        const series = all.get(key) ?? { name, source, unit, points: [], lost: [] };
        if (!all.has(key) && all.size >= MOST_SERIES) continue;
        all.set(key, series);
        if (!begun.has(key)) lose(series, (point) => point.position >= position);
        begun.add(key);
        const last = series.points.at(-1);
        if (last !== undefined && last.position > position) continue;
        if (last?.position === position) series.points.pop();
        const seconds = new Date(at * 1_000).toISOString();
        series.points.push({ position, value, at: seconds, attempt: session.attempt });
      }
  }
  return [...all.values()];
}

function loseWhatComesAgain(all: Iterable<Growing>, { resumedFrom }: Session): void {
  if (!resumedFrom) return;
  const { step, savedAt } = resumedFrom;
  for (const series of all)
    lose(
      series,
      (point) => Date.parse(point.at) > savedAt * 1_000 && (series.unit === 'epoch' || point.position > step),
    );
}

function lose(series: Growing, isLost: (point: SeriesPoint) => boolean): void {
  series.lost.push(...series.points.filter(isLost));
  series.points = series.points.filter((point) => !isLost(point));
}

/** The last value by each name. Where several series have the name, the one that came furthest counts, or came last. */
export function lastValues(all: readonly Series[]): Readonly<Record<string, SeriesPoint['value']>> {
  const last = new Map<string, SeriesPoint & Pick<Series, 'unit'>>();
  for (const { name, unit, points } of all) {
    const [point, other] = [points.at(-1), last.get(name)];
    if (point === undefined) continue;
    const isComparable = other?.unit === unit && other.position !== point.position;
    const isBehind = isComparable ? point.position < other.position : point.at < (other?.at ?? '');
    if (!isBehind) last.set(name, { ...point, unit });
  }
  return Object.fromEntries([...last].map(([name, { value }]) => [name, value]));
}

/** At most `most` points, evenly spread, the first and the last among them. */
export function thinned<T>(points: readonly T[], most: number): readonly T[] {
  if (points.length <= most) return points;
  const stride = (points.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => points[Math.round(index * stride)]).filter(
    (point) => point !== undefined,
  );
}

/** All series of a run, in the order in which they first appeared. */
export async function readSeries(store: ObjectStore, pipeline: string, runId: string): Promise<Series[]> {
  const attempts = await readHostFiles(
    store,
    bucketKeys.series(pipeline, runId),
    (key) => namePartsOf('series', key)?.attempt,
  );
  const ordered = attempts.toSorted((one, other) => one.of - other.of);
  return joinSeries(ordered.flatMap(({ of, text }) => sessionsOf(of, text)));
}
