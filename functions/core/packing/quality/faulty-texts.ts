/** Texts of a column at which a reader may stop, counted by what is wrong with them, with examples. */
import * as z from 'zod';
import type { MediaFacts } from '../model/documents.ts';

const count = z.number().int().min(0);
const MOST_EXAMPLES = 10;

export const faultyTextsSchema = z.object({
  /** Members that are no UTF-8. */
  notText: count,
  /** Members with a line or a document that is no JSON, and how many lines and documents these are. */
  notJson: count,
  brokenLines: count,
  /** Keys of each. */
  examples: z.object({ notText: z.array(z.string()), notJson: z.array(z.string()) }),
});
type StoredFaults = z.infer<typeof faultyTextsSchema>;

export class FaultyTexts {
  readonly #all = { notText: 0, notJson: 0, brokenLines: 0 };
  readonly #examples: { readonly notText: string[]; readonly notJson: string[] } = {
    notText: [],
    notJson: [],
  };

  add({ notText, notJson }: MediaFacts, key = ''): void {
    if (notText === true) {
      this.#all.notText += 1;
      this.#note('notText', [key]);
    }
    if (notJson === undefined) return;
    this.#all.notJson += 1;
    this.#all.brokenLines += notJson;
    this.#note('notJson', [key]);
  }

  addAll({ notText, notJson, brokenLines, examples }: StoredFaults): void {
    this.#all.notText += notText;
    this.#all.notJson += notJson;
    this.#all.brokenLines += brokenLines;
    this.#note('notText', examples.notText);
    this.#note('notJson', examples.notJson);
  }

  #note(fault: 'notText' | 'notJson', keys: readonly string[]): void {
    this.#examples[fault].push(...keys.slice(0, MOST_EXAMPLES - this.#examples[fault].length));
  }

  /** Undefined without a fault. */
  get stored(): StoredFaults | undefined {
    const isAny = this.#all.notText + this.#all.notJson > 0;
    return isAny ? { ...this.#all, examples: this.#examples } : undefined;
  }
}
