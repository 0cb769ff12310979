/** What persons say of a run: a note, tags, and that a failure is known. */
import { useSignal } from '@preact/signals';
import { DialogButton, fieldOf, SendButton } from '../../parts/controls.tsx';
import { type AnswerOf, client, inWords } from '../../state/api.ts';

/** `onDone` reads the run again. */
type AnnotationProps = Readonly<{ run: AnswerOf<'getRun'>['run']; onDone: () => void }>;

export const AnnotationButton = (props: AnnotationProps) => (
  <DialogButton text="Note and tags…" title="Note and tags">
    {(close) => <Form {...props} close={close} />}
  </DialogButton>
);

function Form({
  run: { runId, annotation },
  onDone,
  close,
}: AnnotationProps & Readonly<{ close: () => void }>) {
  const form = useSignal({ note: annotation?.note ?? '', tags: annotation?.tags.join(', ') ?? '' });
  const { note, tags } = form.value;
  const body = { note, tags: tags.split(',').flatMap((tag) => tag.trim() || []) };
  return (
    <>
      <textarea
        rows={4}
        aria-label="note"
        placeholder="What a colleague should know"
        value={note}
        onInput={({ currentTarget: { value } }) => (form.value = { note: value, tags })}
      />
      {fieldOf(form)('tags', 'tags, with commas', undefined, 'text')}
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
