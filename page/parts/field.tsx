/** A field that a reader fills in. Nothing is sent before a button is pressed. */
interface FieldProps {
  readonly text: string;
  readonly mode: 'decimal' | 'text';
  readonly value: string;
  /** What holds while the field is empty. */
  readonly placeholder?: string;
  readonly onInput: (value: string) => void;
}

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
