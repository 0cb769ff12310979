/** Another deadline or budget for an open run, and what placement would do with it, before and after it is set. */
import { useSignal } from '@preact/signals';
import { dollarText } from '../../model/format.ts';
import { parseLimits, type WrittenLimits } from '../../model/limits.ts';
import { DialogButton, fieldOf, SendButton } from '../../parts/controls.tsx';
import { type AnswerOf, client, inWords, type ShownAnswer } from '../../state/api.ts';
import { DecisionTable, Otherwise } from './decision.tsx';

/** `onChange` reads the run again. */
type LimitsProps = Readonly<{ view: Pick<AnswerOf<'getRun'>, 'run' | 'attempts'>; onChange: () => void }>;

const EMPTY: WrittenLimits = { deadlineHours: '', budgetUsd: '' };

/** Before the batch closes, the declaration of the pipeline counts. */
export const Limits = (props: LimitsProps) =>
  props.view.run.declaration === undefined ? null : (
    <DialogButton text="Limits…" title="Change deadline or budget" isWide>
      {() => <LimitsForm {...props} />}
    </DialogButton>
  );

function LimitsForm({ view: { run, attempts }, onChange }: LimitsProps) {
  const written = useSignal(EMPTY);
  const foreseen = useSignal<AnswerOf<'getWhatIf'> | undefined>(undefined);
  const changed = useSignal<AnswerOf<'putLimits'> | undefined>(undefined);
  const { runId } = run;
  const { deadlineHours = 'none', budgetUsd = 'none' } = run.declaration?.limits ?? {};
  const attempt = String(attempts.at(-1)?.attempt ?? '');
  const field = fieldOf(written);
  const send = async <T,>(call: (limits: Readonly<Record<string, number>>) => Promise<ShownAnswer<T>>) => {
    const asked = parseLimits(written.value);
    if (asked.kind === 'limits') return call(asked.limits);
    return { kind: 'refused' as const, message: asked.message, waitSeconds: 0 };
  };
  return (
    <>
      <p class="quiet">
        The deadline counts from the close of the batch. An empty field stays as it is. The run goes on where
        it is: new limits hold from the next look at it, within five minutes.
      </p>
      <div class="tools">
        {field('deadlineHours', 'deadline in hours', String(deadlineHours))}
        {field('budgetUsd', 'budget in USD', String(budgetUsd))}
      </div>
      <div class="tools">
        {attempt !== '' && (
          <SendButton
            text="What would placement do?"
            call={() =>
              send(async (limits) => inWords(await client.call('getWhatIf', { runId, attempt, ...limits })))
            }
            onDone={(body) => {
              foreseen.value = body;
              changed.value = undefined;
            }}
          />
        )}
        <SendButton
          text="Change the limits"
          kind="primary"
          call={() => send(async (body) => inWords(await client.call('putLimits', { runId, body })))}
          onDone={(body) => {
            foreseen.value = undefined;
            changed.value = body;
            written.value = EMPTY;
            onChange();
          }}
        />
      </div>
      {foreseen.value !== undefined && <Otherwise decided={foreseen.value} />}
      {changed.value !== undefined && <Changed answer={changed.value} />}
    </>
  );
}

function Changed({ answer: { limits, placement } }: Readonly<{ answer: AnswerOf<'putLimits'> }>) {
  const deadline =
    limits.deadlineHours === undefined ? 'no deadline' : `a deadline of ${limits.deadlineHours} h`;
  const budget = limits.budgetUsd === undefined ? 'no budget' : `a budget of ${dollarText(limits.budgetUsd)}`;
  return (
    <div role="status" class="stack">
      <p>{`The run has ${deadline} and ${budget} now.`}</p>
      {placement !== undefined && <p class="quiet">With them, the last placement would have been:</p>}
      {placement !== undefined && <DecisionTable decision={placement} />}
    </div>
  );
}
