/** What one joined shard is made of, and the names of its samples. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { DataSchema, Extents, SampleLines, ShardFormat } from '../documents/shard-format.ts';
import type { ShardReader } from './shard-reader.ts';

/** Splits a name at the dot at which readers split it. */
export function splitName(name: string): { readonly stem: string; readonly rest: string } {
  const dot = name.indexOf('.', name.lastIndexOf('/') + 1);
  return dot < 0 ? { stem: name, rest: '' } : { stem: name.slice(0, dot), rest: name.slice(dot) };
}

/** Renames the later of two samples with the same name. */
export class UniqueNames {
  readonly #taken = new Set<string>();

  /**
   * @param number the sample's number, which makes the new name unique
   * @returns new names of its members; undefined if they can stay
   */
  rename(sample: SampleLines, number: number): string[] | undefined {
    const stems = sample.map(({ name }) => splitName(name).stem);
    if (!stems.some((stem) => this.#taken.has(stem))) {
      for (const stem of stems) this.#taken.add(stem);
      return undefined;
    }
    let mark = `~c${number}`;
    while (stems.some((stem) => this.#taken.has(stem + mark))) mark += 'c';
    for (const stem of stems) this.#taken.add(stem + mark);
    return sample.map(({ name }) => {
      const { stem, rest } = splitName(name);
      return `${stem}${mark}${rest}`;
    });
  }
}

/** What the joiner needs of a ShardReader. */
export type SequentialBytes = Pick<ShardReader, 'position' | 'take' | 'skip' | 'bytes' | 'finish' | 'close'>;

/** One old shard, opened. */
export interface JoinInput {
  readonly reader: SequentialBytes;
  readonly samples: readonly SampleLines[];
  /** Indexes of the samples that are joined, in order. */
  readonly kept: readonly number[];
  /** New copies of samples, by their numbers in the input. */
  readonly added: ReadonlyMap<number, number>;
  /** Undefined if only the frames tell where its samples lie. */
  readonly extents: Extents | undefined;
  /** Added to its numbers of samples. */
  readonly base: number;
  /**
   * Reads again from an uncompressed byte on; what comes before it in a compressed shard is inflated again too. The
   * shard's own reader compares its checksum.
   */
  readonly readFrom: (offset: number) => SequentialBytes;
  /** A larger sample that is written several times is read several times, and not held. */
  readonly mostHeldBytes: number;
}

/** How the bytes of a sample that is written several times are read again; undefined if they are held. */
export function againOf(
  { readFrom, mostHeldBytes }: JoinInput,
  sample: SampleLines,
): JoinInput['readFrom'] | undefined {
  const bytes = sample.reduce((sum, { size }) => sum + size, 0);
  return bytes > mostHeldBytes ? readFrom : undefined;
}

export interface JoinJob {
  readonly key: string;
  readonly packing: PackingSettings;
  readonly format: ShardFormat;
  readonly schema: DataSchema;
  readonly inputs: readonly JoinInput[];
  /** For each place the input whose next sample it gets. */
  readonly order: Uint32Array;
  /** Of the new shard. Copies make up for those that the order lacks; by default there are none. */
  readonly samples?: number | undefined;
}

/** The new copies of a sample that the input keeps. */
const addedTo = ({ added, samples }: JoinInput, index: number): number => {
  const [first] = samples[index] ?? [];
  return first === undefined || first.repeat !== undefined ? 0 : (added.get(first.sample) ?? 0);
};

/** Samples of the new shard, with copies that balance the classes. */
export const samplesIn = ({ inputs, order }: JoinJob): number =>
  inputs.reduce(
    (sum, input) => sum + input.kept.reduce((copies, index) => copies + addedTo(input, index), 0),
    order.length,
  );

/** A place of the new shard's order, and the old sample that it gets. */
export interface Place {
  readonly input: JoinInput;
  /** Of the sample in the input. */
  readonly number: number;
  readonly sample: SampleLines;
  /** The numbers of the copies that follow the sample. */
  readonly copies: readonly number[];
}

/**
 * All places in order; each input gives the samples that it keeps one after the other. Old shards may each hold a copy
 * of one sample with the same number, and then the second gets another: two copies with one number would be one.
 */
export function* placesOf(job: JoinJob): Generator<Place> {
  const { inputs, order, samples = 0 } = job;
  const [seen, numbers] = [new Set<string>(), numbersFrom(lastRepeat(inputs))];
  const taken = inputs.map(() => 0);
  const missing = Math.max(0, samples - samplesIn(job));
  for (const [place, index] of order.entries()) {
    const input = inputs[index];
    const number = input?.kept[taken[index] ?? 0];
    const sample = number === undefined ? undefined : input?.samples[number];
    if (input === undefined || number === undefined || sample === undefined)
      throw new Error('the order names more samples than the shard holds');
    taken[index] = (taken[index] ?? 0) + 1;
    const evening = Math.floor(missing / order.length) + (place < missing % order.length ? 1 : 0);
    const copies = Array.from({ length: evening + addedTo(input, number) }, numbers);
    yield { input, number, sample: renumbered(sample, input.base, { seen, numbers }), copies };
  }
}

function renumbered(
  sample: SampleLines,
  base: number,
  { seen, numbers }: { readonly seen: Set<string>; readonly numbers: () => number },
): SampleLines {
  const [first] = sample;
  if (first?.repeat === undefined) return sample;
  const name = `${base + first.sample}/${first.repeat}`;
  if (!seen.has(name)) {
    seen.add(name);
    return sample;
  }
  const repeat = numbers();
  return sample.map((line) => ({ ...line, repeat }));
}

function numbersFrom(last: number): () => number {
  let number = last;
  return () => {
    number += 1;
    return number;
  };
}

const lastRepeat = (inputs: readonly JoinInput[]): number =>
  inputs.reduce(
    (most, { samples }) => samples.reduce((last, [line]) => Math.max(last, line?.repeat ?? 0), most),
    0,
  );
