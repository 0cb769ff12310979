/** Buttons of which one is pressed. The choice is a word of the address. */
import { setQuery } from '../state/address.ts';

interface ChoiceProps<Value extends string | number> {
  /** Of the address. */
  readonly word: string;
  readonly values: readonly Value[];
  readonly chosen: Value;
  readonly text?: (value: Value) => string;
}

export function Choice<Value extends string | number>({
  word,
  values,
  chosen,
  text = String,
}: ChoiceProps<Value>) {
  return values.map((each) => (
    <button
      key={each}
      type="button"
      class="small"
      aria-pressed={each === chosen}
      onClick={() => setQuery({ [word]: String(each) })}
    >
      {text(each)}
    </button>
  ));
}
