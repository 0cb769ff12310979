/** Names of samples in a joined shard. Samples of two generations may share a name, but not in one shard. */
import type { SampleLines } from '../documents/shard-format.ts';

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
