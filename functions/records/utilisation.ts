/**
 * How busy the hosts of a run were, over all its attempts, from what the agent measured
 * (training/agent/tidewheel_agent/evidence).
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readDocumentLines } from '@tidewheel/contract/document.ts';
import { evidencePoint } from '@tidewheel/contract/evidence.ts';
import { type NameParts, namePartsOf } from '@tidewheel/contract/files.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import * as z from 'zod';
import { type HostFile, listHostFiles, MOST_FILES, readBounded } from './host-files.ts';

const share = z.number().describe('Share of 1, the mean over the hosts.');

const utilisationPointSchema = z.object({
  at: time.describe('The end of the time that it stands for.'),
  attempt: z.number().int(),
  hosts: z.number().int().describe('How many measured.'),
  cpuBusy: share,
  gpuBusy: share.optional().describe('Absent without an accelerator.'),
  waiting: share.describe('Of the wall time, how long the processes waited for their next batch.'),
});
type UtilisationPoint = z.output<typeof utilisationPointSchema>;

export const utilisationSchema = z.object({
  points: list(utilisationPointSchema).describe(
    'In order of time. Empty where no host measured, or checkpoints are deleted.',
  ),
  hostsLeftOut: z.number().int().describe('Hosts of all attempts that were too many to read.'),
});
type Utilisation = z.output<typeof utilisationSchema>;

/** What a mean needs of a point (packages/contract/evidence.ts has all of it). */
const measuredSchema = z.object({
  at: z.iso.datetime(),
  processes: z.number().default(1),
  cpu: z.object({ cores: z.number().positive(), all: z.number() }),
  gpu: z.object({ busy: z.number() }).nullable(),
  shares: z.object({ wait: z.number() }),
});

type MeasuredPoint = z.output<typeof measuredSchema> & NameParts;

/** A host writes some 6 MB in 28 days. Parsing more would take longer than a person waits. */
const MOST_BYTES = 16e6;
/** The agent's rhythm: hosts measure at different moments of it. */
const SHORTEST_MILLISECONDS = 10_000;

/** @param most how many points at most, evenly spread over the run; each attempt may have one more */
export async function readUtilisation(
  store: ObjectStore,
  { pipeline, runId, most }: { readonly pipeline: string; readonly runId: string; readonly most: number },
): Promise<Utilisation> {
  const { read, hostsLeftOut } = chosen(await pointsFiles(store, pipeline, runId));
  const texts = await Promise.all(
    read.map(async ({ key, of }) => ({ of, text: (await readBounded(store, key, 'points'))?.text ?? '' })),
  );
  const measured = texts.flatMap(({ of, text }) => measuredIn(text, of));
  return { points: meansOf(measured, most), hostsLeftOut };
}

type PointsFile = HostFile<NameParts>;

const pointsFiles = (store: ObjectStore, pipeline: string, runId: string): Promise<readonly PointsFile[]> =>
  listHostFiles(store, bucketKeys.evidence(pipeline, runId), (key) => namePartsOf('points', key));

/** The first host of every attempt comes before the second of any, so that no attempt is empty while another is full. */
function chosen(files: readonly PointsFile[]): { read: readonly PointsFile[]; hostsLeftOut: number } {
  const byAttempt = [...Map.groupBy(files, ({ of }) => of.attempt).values()];
  const ranked = byAttempt.flatMap((hosts) => hosts.map((file, rank) => ({ file, rank })));
  let bytes = 0;
  const read = ranked
    .toSorted((one, other) => one.rank - other.rank)
    .filter(({ file }) => {
      bytes += file.bytes;
      return bytes <= MOST_BYTES;
    })
    .slice(0, MOST_FILES)
    .map(({ file }) => file);
  return { read, hostsLeftOut: files.length - read.length };
}

/** Lines that cannot be read, such as one that a kill has cut short, are passed over. A helper host trains nothing. */
const measuredIn = (text: string, of: NameParts): MeasuredPoint[] =>
  readDocumentLines({ ...evidencePoint, schema: measuredSchema }, text).flatMap((point) =>
    point.processes === 0 ? [] : [{ ...point, ...of }],
  );

/** In order of time. Each stands for as long as the others, however often the hosts measured in it. */
function meansOf(measured: readonly MeasuredPoint[], most: number): UtilisationPoint[] {
  const times = measured.map(({ at }) => Date.parse(at));
  const first = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
  const last = times.reduce((greatest, time) => Math.max(greatest, time), 0);
  const width = Math.max(SHORTEST_MILLISECONDS, (last - first + 1) / most);
  const bins = Map.groupBy(
    measured,
    ({ at, attempt }) => `${attempt} ${Math.floor((Date.parse(at) - first) / width)}`,
  );
  return [...bins.values()]
    .flatMap((bin) => meanOf(bin))
    .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at) || one.attempt - other.attempt);
}

function meanOf(bin: readonly MeasuredPoint[]): UtilisationPoint[] {
  const [one] = bin;
  if (one === undefined) return [];
  const gpus = bin.flatMap(({ gpu }) => gpu ?? []);
  return [
    {
      at: bin.reduce((latest, { at }) => (Date.parse(at) > Date.parse(latest) ? at : latest), one.at),
      attempt: one.attempt,
      hosts: new Set(bin.map(({ host }) => host)).size,
      cpuBusy: mean(bin.map(({ cpu }) => Math.min(1, cpu.all / cpu.cores))),
      ...(gpus.length > 0 && { gpuBusy: mean(gpus.map(({ busy }) => busy)) }),
      waiting: mean(bin.map(({ shares }) => shares.wait)),
    },
  ];
}

/** To a thousandth: more was not measured. */
const mean = (values: readonly number[]): number =>
  Math.round((values.reduce((sum, value) => sum + value, 0) / values.length) * 1_000) / 1_000;
