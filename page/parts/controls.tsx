/** The button, in its few shapes, the fields, and the dialog that a button opens. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { setQuery } from '../state/address.ts';
import { ask, type Refused, type ShownAnswer } from '../state/api.ts';
import { RefusalText } from './text.tsx';

type Choice<V> = Readonly<{ word: string; values: readonly V[]; chosen: V; text?: (value: V) => string }>;

const textOf = (value: string | number): string => (value === 'dollars' ? '$' : String(value));

/** Buttons of which one is pressed. @param word of the address, which has the choice; a zoom is of one axis */
export const ChoiceButtons = <V extends string | number>({
  word,
  values,
  chosen,
  text = textOf,
}: Choice<V>) => (
  <span class="choice" role="group" aria-label={word}>
    {values.map((each) => (
      <button
        key={each}
        type="button"
        class="plain"
        aria-pressed={each === chosen}
        onClick={() => setQuery({ ...(word === 'x' && { zoom: undefined }), [word]: String(each) })}
      >
        {text(each)}
      </button>
    ))}
  </span>
);

type FieldProps = Readonly<{ label: string }> &
  Readonly<Partial<Record<'name' | 'placeholder' | 'defaultValue', string | undefined>>>;

/** A field of a dialog, whose button sends what is filled in. @param placeholder what holds while it is empty */
export const Field = ({ label, ...field }: FieldProps & Readonly<{ type?: 'number' }>) => (
  <label>
    {label}
    <input size={12} step="any" {...field} />
  </label>
);

/** A field of several lines. */
export const Words = ({ label, ...field }: FieldProps) => <textarea rows={4} aria-label={label} {...field} />;

/** After the last key. */
const TYPING_MILLISECONDS = 300;
let typing: ReturnType<typeof setTimeout> | undefined;

/** What a list is narrowed to: a word of the address, once a person pauses. The key / leads here. */
export function Find({ wanted, placeholder }: Readonly<{ wanted: string; placeholder: string }>) {
  const at = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // A person who types is ahead of the address.
    if (at.current !== null && at.current !== document.activeElement) at.current.value = wanted;
  }, [wanted]);
  return (
    <input
      ref={at}
      id="find"
      type="search"
      size={34}
      aria-label="find"
      placeholder={placeholder}
      onInput={({ currentTarget: field }) => {
        clearTimeout(typing);
        typing = setTimeout(
          () => field.isConnected && setQuery({ find: field.value.trim() }),
          TYPING_MILLISECONDS,
        );
      }}
    />
  );
}

/** What is filled in, by the names of the fields. */
type Given = Readonly<Record<string, string>>;

type SendButtonProps<T> = Readonly<{
  text: string;
  kind?: 'primary' | 'danger';
  call: (given: Given) => Promise<ShownAnswer<T>> | Refused;
  onDone: (body: T | undefined) => void;
}>;

/** A button whose call changes something, and why the API refused it. The browser says what is no number. */
export function SendButton<T>({ text, kind, call, onDone }: SendButtonProps<T>) {
  const isSent = useSignal(false);
  const refused = useSignal<string | undefined>(undefined);
  const press = async (form: HTMLFormElement | null): Promise<void> => {
    if (form?.reportValidity() === false) return;
    isSent.value = true;
    refused.value = undefined;
    const answer = await call(givenIn(form));
    isSent.value = false;
    if (answer.kind === 'refused') refused.value = answer.message;
    else onDone(answer.kind === 'ok' ? answer.body : undefined);
  };
  const send = { class: kind, disabled: isSent.value };
  return (
    <>
      <button type="button" {...send} onClick={({ currentTarget }) => void press(currentTarget.form)}>
        {text}
      </button>
      <RefusalText text={refused.value} />
    </>
  );
}

const givenIn = (form: HTMLFormElement | null): Given =>
  Object.fromEntries(
    [...new FormData(form ?? undefined)].flatMap(([name, value]) =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value]] : [],
    ),
  );

type Failed = Readonly<{ runId: string; status: string; acknowledgement?: object | undefined }>;

/** A failure that is known needs no person any more. */
export const Dismiss = ({ run, onDone }: Readonly<{ run: Failed; onDone: () => void }>) =>
  run.status === 'failed' && run.acknowledgement === undefined ? (
    <SendButton text="Dismiss" call={() => ask('acknowledgeRun', { runId: run.runId })} onDone={onDone} />
  ) : null;

type DialogProps = Readonly<{ title: string; onClose: () => void; children: ComponentChildren }>;

export function Dialog({ title, onClose, children }: DialogProps) {
  const at = useRef<HTMLDialogElement>(null);
  useEffect(() => at.current?.showModal(), []);
  // A press on the dialog itself is one beside what it holds.
  return (
    <dialog
      ref={at}
      aria-label={title}
      onClose={onClose}
      onClick={({ target }) => target === at.current && onClose()}
    >
      <div class="row">
        <h2>{title}</h2>
        <button type="button" class="plain" onClick={onClose}>
          Close
        </button>
      </div>
      {/* The key Enter in a field closes nothing. */}
      <form method="dialog" class="stack" onSubmit={(event) => event.submitter ?? event.preventDefault()}>
        {children}
      </form>
    </dialog>
  );
}

type DialogButtonProps<T> = Readonly<{
  text: string;
  label?: string;
  title: string;
  kind?: 'primary' | 'plain' | undefined;
  act?: SendButtonProps<T>;
  children: () => ComponentChildren;
}>;

/** A button that opens a dialog, which is made only then. Three points in its text: it asks before it acts. */
export function DialogButton<T>({ text, label, title, kind, act, children }: DialogButtonProps<T>) {
  const isOpen = useSignal(false);
  const done = (body: T | undefined): void => {
    isOpen.value = false;
    act?.onDone(body);
  };
  return (
    <>
      <button type="button" class={kind} aria-label={label} data-action onClick={() => (isOpen.value = true)}>
        {text}
      </button>
      {isOpen.value && (
        <Dialog title={title} onClose={() => (isOpen.value = false)}>
          {children()}
          {act && <SendButton kind="primary" {...act} onDone={done} />}
        </Dialog>
      )}
    </>
  );
}
