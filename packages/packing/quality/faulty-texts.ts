/** Texts of a column at which a reader may stop, counted by what is wrong with them, with examples. */
import * as z from 'zod';
import type { MediaFacts } from '../documents/documents.ts';

const count = z.number().int().min(0);
const MOST_EXAMPLES = 10;

export const faultyTextsSchema = z.object({
  /** Members that are no UTF-8. */
  notText: count,
  /** Members with a line or a document that is no JSON, and how many lines and documents these are. */
  notJson: count,
  brokenLines: count,
  /** Texts that the store copied, so that no one looked at them. Above 0. */
  unread: count.optional(),
  /** Keys of each. */
  examples: z.object({ notText: z.array(z.string()), notJson: z.array(z.string()) }),
});
type StoredFaults = z.infer<typeof faultyTextsSchema>;

export class FaultyTexts {
  readonly #all = { notText: 0, notJson: 0, brokenLines: 0, unread: 0 };
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

  addUnread(): void {
    this.#all.unread += 1;
  }

  addAll({ notText, notJson, brokenLines, unread = 0, examples }: StoredFaults): void {
    this.#all.unread += unread;
    this.#all.notText += notText;
    this.#all.notJson += notJson;
    this.#all.brokenLines += brokenLines;
    this.#note('notText', examples.notText);
    this.#note('notJson', examples.notJson);
  }

  #note(fault: 'notText' | 'notJson', keys: readonly string[]): void {
    this.#examples[fault].push(...keys.slice(0, MOST_EXAMPLES - this.#examples[fault].length));
  }

  /** Undefined if there is nothing to say. */
  get stored(): StoredFaults | undefined {
    const { unread, ...faults } = this.#all;
    if (faults.notText + faults.notJson + unread === 0) return undefined;
    return { ...faults, ...(unread > 0 && { unread }), examples: this.#examples };
  }
}
