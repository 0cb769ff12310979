/** The button, in its few shapes, the fields, and the dialog that a button opens. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, InputHTMLAttributes } from 'preact';
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
    {values.map((each) => {
      const choose = (): void => setQuery({ ...(word === 'x' && { zoom: undefined }), [word]: String(each) });
      return (
        <button key={each} type="button" class="plain" aria-pressed={each === chosen} onClick={choose}>
          {text(each)}
        </button>
      );
    })}
  </span>
);

/** A field of a dialog, whose button sends what is filled in. @param placeholder what holds while it is empty */
export const Field = ({ label, ...field }: Readonly<{ label: string }> & InputHTMLAttributes) => (
  <label>
    {label}
    <input size={12} step="any" {...field} />
  </label>
);

/** After the last key. */
const TYPING_MILLISECONDS = 300;
let typing: ReturnType<typeof setTimeout> | undefined;

/** What a list is narrowed to: a word of the address, once a person pauses. The key / leads here. */
export function Find({ wanted, ...field }: Readonly<Record<'wanted' | 'placeholder', string>>) {
  const at = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // A person who types is ahead of the address.
    if (at.current !== null && at.current !== document.activeElement) at.current.value = wanted;
  }, [wanted]);
  const type = (): void => {
    clearTimeout(typing);
    typing = setTimeout(() => at.current && setQuery({ find: at.current.value.trim() }), TYPING_MILLISECONDS);
  };
  return <input ref={at} id="find" type="search" size={34} aria-label="find" {...field} onInput={type} />;
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
  const sent = useSignal<Readonly<{ isOpen?: true; refusal?: string }>>({});
  const press = async (form: HTMLFormElement | null): Promise<void> => {
    if (form?.reportValidity() === false) return;
    sent.value = { isOpen: true };
    const answer = await call(givenIn(form));
    sent.value = answer.kind === 'refused' ? { refusal: answer.message } : {};
    if (answer.kind !== 'refused') onDone(answer.kind === 'ok' ? answer.body : undefined);
  };
  const send = { class: kind, disabled: sent.value.isOpen };
  return (
    <>
      <button type="button" {...send} onClick={({ currentTarget }) => void press(currentTarget.form)}>
        {text}
      </button>
      <RefusalText text={sent.value.refusal} />
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
  const press = ({ target }: MouseEvent): void => void (target === at.current && onClose());
  return (
    <dialog ref={at} aria-label={title} onClose={onClose} onClick={press}>
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

type DialogButtonProps<T> = Readonly<{ text: string; title: string; children: () => ComponentChildren }> &
  Readonly<{ label?: string; kind?: 'primary' | 'plain' | undefined; act?: SendButtonProps<T> }>;

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
