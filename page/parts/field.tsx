/** Fields that a reader fills in. */
import { setQuery } from '../state/address.ts';

interface FieldProps {
  readonly text: string;
  readonly mode: 'decimal' | 'text';
  readonly value: string;
  /** What holds while the field is empty. */
  readonly placeholder?: string;
  readonly onInput: (value: string) => void;
}

/** Nothing is sent before a button is pressed. */
export const Field = ({ text, mode, value, placeholder, onInput }: FieldProps) => (
  <label>
    {text}{' '}
    <input
      inputMode={mode}
      size={12}
      value={value}
      placeholder={placeholder}
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
    />
  </label>
);

/** What a list is narrowed to: a word of the address. */
export const Find = ({ wanted }: { readonly wanted: string }) => (
  <label>
    find{' '}
    <input
      id="find"
      type="search"
      value={wanted}
      onInput={({ currentTarget }) => setQuery({ find: currentTarget.value })}
    />
  </label>
);
