/** What persons say of a run: a note, tags, and that a failure is known. */
import { useSignal } from '@preact/signals';
import { Action, Field, SendButton } from '../../parts/controls.tsx';
import { type AnswerOf, client, inWords } from '../../state/api.ts';

type Run = Pick<AnswerOf<'getRun'>['run'], 'runId' | 'status' | 'annotation' | 'acknowledgement'>;

interface AnnotationProps {
  readonly run: Run;
  /** Reads the run again. */
  readonly onDone: () => void;
}

export const Annotation = (props: AnnotationProps) => (
  <Action text="Note and tags…" title="Note and tags">
    {(close) => <Form {...props} close={close} />}
  </Action>
);

function Form({
  run: { runId, annotation },
  onDone,
  close,
}: AnnotationProps & { readonly close: () => void }) {
  const note = useSignal(annotation?.note ?? '');
  const tags = useSignal(annotation?.tags.join(', ') ?? '');
  const body = {
    note: note.value,
    tags: tags.value
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean),
  };
  return (
    <>
      <textarea
        rows={4}
        aria-label="note"
        placeholder="What a colleague should know"
        value={note.value}
        onInput={({ currentTarget }) => (note.value = currentTarget.value)}
      />
      <Field
        text="tags, with commas"
        mode="text"
        value={tags.value}
        onInput={(value) => (tags.value = value)}
      />
      <SendButton
        text="Save"
        kind="primary"
        call={async () => inWords(await client.call('annotateRun', { runId, body }))}
        onDone={() => {
          close();
          onDone();
        }}
      />
    </>
  );
}

/** A failure that is known needs nobody any more. */
export const Dismiss = ({ run: { runId, status, acknowledgement }, onDone }: AnnotationProps) =>
  status !== 'failed' || acknowledgement !== undefined ? null : (
    <SendButton
      text="Dismiss"
      call={async () => inWords(await client.call('acknowledgeRun', { runId }))}
      onDone={onDone}
    />
  );
