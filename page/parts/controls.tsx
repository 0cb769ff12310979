/** The button, in its few shapes, the fields, and the dialog that a button opens. */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { setQuery } from '../state/address.ts';
import type { ShownAnswer } from '../state/api.ts';
import { RefusalText } from './text.tsx';

/**
 * Buttons of which one is pressed.
 * @param word of the address, which has the choice @param without other words, which end with the choice
 */
export const ChoiceButtons = <Value extends string | number>({
  word,
  values,
  chosen,
  text = String,
  without,
}: Readonly<{
  word: string;
  values: readonly Value[];
  chosen: Value;
  text?: (value: Value) => string;
  without?: Readonly<Record<string, undefined>>;
}>) => (
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

/**
 * Fields of a form that is one signal. Nothing is sent before a button is pressed.
 * @returns draws a field; its placeholder is what holds while it is empty
 */
export const fieldOf =
  <Form extends Readonly<Record<string, string>>>(form: Signal<Form>) =>
  (name: keyof Form, text: string, placeholder?: string, mode: 'decimal' | 'text' = 'decimal') => (
    <label>
      {text}
      <input
        inputMode={mode}
        size={12}
        value={form.value[name]}
        placeholder={placeholder}
        onInput={({ currentTarget: { value } }) => (form.value = { ...form.value, [name]: value })}
      />
    </label>
  );

/** What a list is narrowed to: a word of the address. The key / leads here. */
export const Find = ({ wanted, placeholder }: Readonly<{ wanted: string; placeholder: string }>) => (
  <input
    id="find"
    class="find"
    type="search"
    size={34}
    aria-label="find"
    placeholder={placeholder}
    value={wanted}
    onInput={({ currentTarget }) => setQuery({ find: currentTarget.value })}
  />
);

/** A button whose call changes something, and why the API refused it. */
export function SendButton<T>({
  text,
  kind,
  call,
  onDone,
}: Readonly<{
  text: string;
  kind?: 'primary' | 'danger';
  call: () => Promise<ShownAnswer<T>>;
  onDone: (body: T | undefined) => void;
}>) {
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

export function Dialog({
  title,
  isWide,
  onClose,
  children,
}: Readonly<{
  title: string;
  isWide?: boolean | undefined;
  onClose: () => void;
  children: ComponentChildren;
}>) {
  const at = useRef<HTMLDialogElement>(null);
  useEffect(() => at.current?.showModal(), []);
  // A press on the dialog itself is one beside what it holds.
  return (
    <dialog
      ref={at}
      class={isWide ? 'wide' : undefined}
      aria-label={title}
      onClose={onClose}
      onClick={({ target }) => target === at.current && onClose()}
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

/** A button that opens a dialog, which is made only then. Three points in its text: it asks before it acts. */
export function DialogButton({
  text,
  title,
  kind,
  isWide,
  children,
}: Readonly<{
  text: string;
  title: string;
  kind?: 'primary';
  isWide?: boolean;
  children: (close: () => void) => ComponentChildren;
}>) {
  const isOpen = useSignal(false);
  const close = (): boolean => (isOpen.value = false);
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
