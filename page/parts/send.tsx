/** A button whose call changes something, and why the API refused it. */
import { useSignal } from '@preact/signals';
import type { ShownAnswer } from '../state/api.ts';
import { RefusalText } from './text.tsx';

interface SendProps<T> {
  readonly text: string;
  readonly call: () => Promise<ShownAnswer<T>>;
  readonly onDone: (body: T | undefined) => void;
}

export function SendButton<T>({ text, call, onDone }: SendProps<T>) {
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
      <button type="button" disabled={isSent.value} onClick={() => void press()}>
        {text}
      </button>
      <RefusalText text={refused.value} />
    </>
  );
}
