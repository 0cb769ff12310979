/** The button, in its few shapes, the fields, and the dialog that a button opens. */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { setQuery } from '../state/address.ts';
import type { ShownAnswer } from '../state/api.ts';
import { RefusalText } from './text.tsx';

interface ChoiceProps<Value extends string | number> {
  /** Of the address. */
  readonly word: string;
  readonly values: readonly Value[];
  readonly chosen: Value;
  readonly text?: (value: Value) => string;
  /** Other words of the address that end with the choice. */
  readonly without?: Readonly<Record<string, undefined>>;
}

/** Buttons of which one is pressed. The choice is a word of the address. */
export const Choice = <Value extends string | number>({
  word,
  values,
  chosen,
  text = String,
  without,
}: ChoiceProps<Value>) => (
  <span class="choice" role="group" aria-label={word}>
    {values.map((each) => (
      <button
        key={each}
        type="button"
        aria-pressed={each === chosen}
        onClick={() => setQuery({ ...without, [word]: String(each) })}
      >
        {text(each)}
      </button>
    ))}
  </span>
);

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

/** A field of a form whose fields are one signal. */
export const fieldOf =
  <Form extends Readonly<Record<string, string>>>(form: Signal<Form>) =>
  (name: keyof Form, text: string, more: Pick<FieldProps, 'mode'> & Partial<FieldProps>) => (
    <Field
      text={text}
      value={form.value[name] ?? ''}
      onInput={(value) => {
        form.value = { ...form.value, [name]: value };
      }}
      {...more}
    />
  );

interface FindProps {
  readonly wanted: string;
  readonly placeholder: string;
  /** Absent: the word of the address. */
  readonly onInput?: (value: string) => void;
}

/** What a list is narrowed to. The key / leads here. */
export const Find = ({ wanted, placeholder, onInput = (find) => setQuery({ find }) }: FindProps) => (
  <input
    id="find"
    class="find"
    type="search"
    size={34}
    aria-label="find"
    placeholder={placeholder}
    value={wanted}
    onInput={({ currentTarget }) => onInput(currentTarget.value)}
  />
);

interface SendProps<T> {
  readonly text: string;
  readonly kind?: 'primary' | 'danger';
  readonly call: () => Promise<ShownAnswer<T>>;
  readonly onDone: (body: T | undefined) => void;
}

/** A button whose call changes something, and why the API refused it. */
export function SendButton<T>({ text, kind, call, onDone }: SendProps<T>) {
  const isSent = useSignal(false);
  const refused = useSignal<string | undefined>(undefined);
  const press = async (): Promise<void> => {
    isSent.value = true;
    refused.value = undefined;
    const answer = await call();
    isSent.value = false;
    if (answer.kind === 'refused') refused.value = answer.message;
    else onDone(answer.kind === 'ok' ? answer.body : undefined);
  };
  return (
    <>
      <button type="button" class={kind} disabled={isSent.value} onClick={() => void press()}>
        {text}
      </button>
      <RefusalText text={refused.value} />
    </>
  );
}

interface DialogProps {
  readonly title: string;
  readonly isWide?: boolean | undefined;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, isWide, onClose, children }: DialogProps) {
  const at = useRef<HTMLDialogElement>(null);
  useEffect(() => at.current?.showModal(), []);
  return (
    <dialog
      ref={at}
      class={isWide ? 'wide' : undefined}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => {
        // What lies beside it.
        if (event.target === at.current) onClose();
      }}
    >
      <div class="head">
        <h2>{title}</h2>
        <span class="tools">
          <button type="button" class="plain" onClick={onClose}>
            Close
          </button>
        </span>
      </div>
      <div class="stack">{children}</div>
    </dialog>
  );
}

interface ActionProps {
  /** With three points: it asks before it acts. */
  readonly text: string;
  readonly title: string;
  readonly kind?: 'primary' | undefined;
  readonly isWide?: boolean;
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button that opens a dialog, which is made only then. */
export function Action({ text, title, kind, isWide, children }: ActionProps) {
  const isOpen = useSignal(false);
  const close = (): void => {
    isOpen.value = false;
  };
  return (
    <>
      <button type="button" class={kind} data-action onClick={() => (isOpen.value = true)}>
        {text}
      </button>
      {isOpen.value && (
        <Dialog title={title} isWide={isWide} onClose={close}>
          {children(close)}
        </Dialog>
      )}
    </>
  );
}
