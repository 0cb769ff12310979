/** Samples that brought their class in a label file, and those to which the declaration would give another one. */
import * as z from 'zod';
import type { MemberLine } from '../model/documents.ts';

const MOST_EXAMPLES = 10;

export const ownLabelsSchema = z.object({
  samples: z.number().int().min(0),
  /** Of them, those whose folder, name or annotation says another class. */
  differing: z.number().int().min(0),
  examples: z.array(z.object({ key: z.string(), label: z.string(), declared: z.string() })),
});
export type StoredOwnLabels = z.infer<typeof ownLabelsSchema>;

export class OwnLabels {
  #samples = 0;
  #differing = 0;
  readonly #examples: StoredOwnLabels['examples'] = [];

  /** @param line of a sample, not of its copies */
  add({ key, label, declared }: Pick<MemberLine, 'key' | 'label' | 'declared'>): void {
    if (key === undefined || label === undefined) return;
    this.#samples += 1;
    if (declared === undefined) return;
    this.#differing += 1;
    if (this.#examples.length < MOST_EXAMPLES) this.#examples.push({ key, label, declared });
  }

  addAll({ samples, differing, examples }: StoredOwnLabels): void {
    this.#samples += samples;
    this.#differing += differing;
    this.#examples.push(...examples.slice(0, MOST_EXAMPLES - this.#examples.length));
  }

  /** Undefined where there are none. */
  get stored(): StoredOwnLabels | undefined {
    if (this.#samples === 0) return undefined;
    return { samples: this.#samples, differing: this.#differing, examples: this.#examples };
  }
}
