/** The button, in its few shapes, the fields, and the dialog that a button opens. */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { AXES, type AxisName } from '../model/curve.ts';
import { setQuery } from '../state/address.ts';
import { ask, type ShownAnswer } from '../state/api.ts';
import { RefusalText } from './text.tsx';

type Choice<V> = Readonly<{ word: string; values: readonly V[]; chosen: V; text?: (value: V) => string }>;

/** Buttons of which one is pressed. @param word of the address, which has the choice; a zoom is of one axis */
export const ChoiceButtons = <V extends string | number>({
  word,
  values,
  chosen,
  text = String,
}: Choice<V>) => (
  <span class="choice" role="group" aria-label={word}>
    {values.map((each) => (
      <button
        key={each}
        type="button"
        aria-pressed={each === chosen}
        onClick={() => setQuery({ ...(word === 'x' && { zoom: undefined }), [word]: String(each) })}
      >
        {text(each)}
      </button>
    ))}
  </span>
);

/** What lies along the axis of all curves. */
export const AxisButtons = ({ chosen }: Readonly<{ chosen: AxisName }>) => (
  <ChoiceButtons word="x" values={AXES} chosen={chosen} text={(each) => (each === 'dollars' ? '$' : each)} />
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

type SendButtonProps<T> = Readonly<{
  text: string;
  kind?: 'primary' | 'danger';
  call: () => Promise<ShownAnswer<T>>;
  onDone: (body: T | undefined) => void;
}>;

/** A button whose call changes something, and why the API refused it. */
export function SendButton<T>({ text, kind, call, onDone }: SendButtonProps<T>) {
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

type Failed = Readonly<{ runId: string; status: string; acknowledgement?: object | undefined }>;

/** A failure that is known needs no person any more. */
export const Dismiss = ({ run, onDone }: Readonly<{ run: Failed; onDone: () => void }>) =>
  run.status === 'failed' && run.acknowledgement === undefined ? (
    <SendButton text="Dismiss" call={() => ask('acknowledgeRun', { runId: run.runId })} onDone={onDone} />
  ) : null;

type DialogProps = Readonly<{
  title: string;
  isWide?: boolean | undefined;
  onClose: () => void;
  children: ComponentChildren;
}>;

export function Dialog({ title, isWide, onClose, children }: DialogProps) {
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

type WordsProps = Readonly<{ label: string; placeholder: string; of: Signal<string> }>;

/** A field of several lines. */
export const Words = ({ label, placeholder, of }: WordsProps) => (
  <textarea
    rows={4}
    aria-label={label}
    placeholder={placeholder}
    value={of.value}
    onInput={({ currentTarget: { value } }) => (of.value = value)}
  />
);

type DialogButtonProps<T> = Readonly<{
  text: string;
  title: string;
  kind?: 'primary' | undefined;
  isWide?: boolean;
  act?: SendButtonProps<T>;
  children: () => ComponentChildren;
}>;

/** A button that opens a dialog, which is made only then. Three points in its text: it asks before it acts. */
export function DialogButton<T>({ text, title, kind, isWide, act, children }: DialogButtonProps<T>) {
  const isOpen = useSignal(false);
  const close = (): boolean => (isOpen.value = false);
  const done = (body: T | undefined): void => {
    close();
    act?.onDone(body);
  };
  return (
    <>
      <button type="button" class={kind} data-action onClick={() => (isOpen.value = true)}>
        {text}
      </button>
      {isOpen.value && (
        <Dialog title={title} isWide={isWide} onClose={close}>
          {children()}
          {act && <SendButton kind="primary" {...act} onDone={done} />}
        </Dialog>
      )}
    </>
  );
}
