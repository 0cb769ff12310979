/** The class in a label file (`.cls`) that arrived with its sample. */
import type { LabelNumber } from './alike-numbers.ts';

/** A longer text is no class. */
const MOST_BYTES = 1_024;

export interface OwnLabel {
  /** As a class: without the blanks around it or, where shards hold labels as numbers, its number. */
  readonly label: string;
  /** What the declaration would give, where that is another class. */
  readonly declared?: string;
}

/** Undefined for what is no text, no single line, or too long. */
function classIn(chunks: readonly Uint8Array[]): string | undefined {
  if (chunks.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)).trim();
    return text === '' || /\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

export function ownLabel(
  chunks: readonly Uint8Array[],
  declared: string | undefined,
  numberOf: LabelNumber = () => undefined,
): OwnLabel | undefined {
  const text = classIn(chunks);
  if (text === undefined) return undefined;
  const label = numberOf(text) ?? text;
  const isOther = declared !== undefined && (numberOf(declared) ?? declared) !== label;
  return { label, ...(isOther && { declared: declared.toWellFormed() }) };
}
