/** Names of samples in a joined tar: two generations may have one name for different samples, a shard may not. */
import type { SampleLines } from '../model/shard-format.ts';

/** A name up to the dot at which readers split it. */
function splitName(name: string): { readonly stem: string; readonly rest: string } {
  const dot = name.indexOf('.', name.lastIndexOf('/') + 1);
  return dot < 0 ? { stem: name, rest: '' } : { stem: name.slice(0, dot), rest: name.slice(dot) };
}

/** Gives the later of two samples of one name another. */
export class UniqueNames {
  readonly #taken = new Set<string>();

  /**
   * @param number the sample's own, which makes the name
   * @returns new names of its members, or undefined when they may stay
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
