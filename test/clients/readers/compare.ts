/** Compares what a reader saw with the sources, sample by sample. */
import * as z from 'zod';
import type { EndedProgram } from '../../../cli/recipes/program.ts';
import type { Expected, SealedTree } from './sealed-tree.ts';

const seenSchema = z.object({
  version: z.string(),
  epochs: z.array(z.record(z.string(), z.record(z.string(), z.string()))),
});

export interface Comparison {
  readonly version: string;
  readonly samples: number;
  /** Empty: every sample of every epoch is equal, and there are no others. */
  readonly problems: readonly string[];
}

const MOST_LISTED = 3;
const LAST_CHARACTERS = 200;

/** @param byPlace the reader names samples by their place in a shard */
export function compare({ code, output }: EndedProgram, tree: SealedTree, byPlace: boolean): Comparison {
  const lines = output.split('\n');
  const last = lines.findLast((line) => line.startsWith('saw '));
  if (code !== 0 || last === undefined) {
    // An exception of Python names its class; what follows may be the log of a process that ends.
    const error = lines.findLast((line) => /^[\w.]*(Error|Exception)\b/.test(line)) ?? lines.at(-1) ?? '';
    return { version: '', samples: 0, problems: [`ended with ${code}: ${error.slice(0, LAST_CHARACTERS)}`] };
  }
  const { version, epochs } = seenSchema.parse(JSON.parse(last.slice('saw '.length)));
  const problems = epochs.flatMap((seen) => differences(new Map(Object.entries(seen)), tree, byPlace));
  if (epochs.length === 0) problems.push('it saw no sample');
  return { version, samples: Object.keys(epochs[0] ?? {}).length, problems };
}

type Seen = ReadonlyMap<string, Readonly<Record<string, string>>>;

function differences(seen: Seen, { samples, places }: SealedTree, byPlace: boolean): string[] {
  const wrong: string[] = [];
  const found = new Set<string>();
  for (const [id, sample] of seen) {
    const name = byPlace ? places.get(id) : id;
    const expected = name === undefined ? undefined : samples.get(name);
    if (name === undefined || expected === undefined) wrong.push(`${JSON.stringify(id)} is no sample`);
    else {
      found.add(name);
      const field = differingField(sample, expected);
      if (field !== undefined) wrong.push(`${JSON.stringify(name)} has another ${field}`);
    }
  }
  for (const name of samples.keys()) if (!found.has(name)) wrong.push(`${JSON.stringify(name)} is missing`);
  const more = wrong.length - MOST_LISTED;
  return more > 0 ? [...wrong.slice(0, MOST_LISTED), `and ${more} more`] : wrong;
}

/** A reader gives the stored bytes of the image or its pixels, and all the rest. */
function differingField(sample: Readonly<Record<string, string>>, expected: Expected): string | undefined {
  const { image, pixels, ...rest } = expected;
  const picture = sample['image'] === undefined ? { pixels } : { image };
  return Object.entries({ ...picture, ...rest }).find(([field, value]) => sample[field] !== value)?.[0];
}
