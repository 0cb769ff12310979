/** Another deadline or budget for an open run, and what placement would do with it, before and after it is set. */
import { type Signal, useSignal } from '@preact/signals';
import { dollarText } from '../../model/format.ts';
import { parseLimits, type WrittenLimits } from '../../model/limits.ts';
import { Disclosure } from '../../parts/disclosure.tsx';
import { Field } from '../../parts/field.tsx';
import { SendButton } from '../../parts/send.tsx';
import { type AnswerOf, client, inWords, type ShownAnswer } from '../../state/api.ts';
import { DecisionTable } from './decision.tsx';
import { Otherwise } from './what-if.tsx';

interface LimitsProps {
  readonly view: Pick<AnswerOf<'getRun'>, 'run' | 'attempts'>;
  /** Reads the run again. */
  readonly onChange: () => void;
}

const EMPTY: WrittenLimits = { deadlineHours: '', budgetUsd: '' };

export function Limits({ view: { run, attempts }, onChange }: LimitsProps) {
  const written = useSignal(EMPTY);
  const foreseen = useSignal<AnswerOf<'getWhatIf'> | undefined>(undefined);
  const changed = useSignal<AnswerOf<'putLimits'> | undefined>(undefined);
  // Before the batch closes, the declaration of the pipeline counts.
  if (run.declaration === undefined) return null;
  const { runId } = run;
  const attempt = attempts.at(-1)?.attempt;
  return (
    <Disclosure id="limits" class="steering" summary="Change deadline or budget">
      {() => (
        <>
          <p class="quiet">
            The deadline counts from the close of the batch. An empty field stays as it is. The run goes on
            where it is: new limits hold from the next look at it, within five minutes.
          </p>
          <Fields written={written} limits={run.declaration?.limits ?? {}} />
          {attempt !== undefined && (
            <SendButton
              text="What would placement do?"
              call={() =>
                withLimits(written.value, async (limits) =>
                  client.call('getWhatIf', { runId, attempt: String(attempt), ...limits }).then(inWords),
                )
              }
              onDone={(body) => {
                foreseen.value = body;
                changed.value = undefined;
              }}
            />
          )}
          <SendButton
            text="Change the limits"
            call={() =>
              withLimits(written.value, async (limits) =>
                client.call('putLimits', { runId, body: limits }).then(inWords),
              )
            }
            onDone={(body) => {
              foreseen.value = undefined;
              changed.value = body;
              written.value = EMPTY;
              onChange();
            }}
          />
          {foreseen.value !== undefined && <Otherwise decided={foreseen.value} />}
          {changed.value !== undefined && <Changed answer={changed.value} />}
        </>
      )}
    </Disclosure>
  );
}

async function withLimits<T>(
  written: WrittenLimits,
  call: (limits: Readonly<Record<string, number>>) => Promise<ShownAnswer<T>>,
): Promise<ShownAnswer<T>> {
  const asked = parseLimits(written);
  return asked.kind === 'wrong'
    ? { kind: 'refused', message: asked.message, waitSeconds: 0 }
    : call(asked.limits);
}

interface FieldsProps {
  readonly written: Signal<WrittenLimits>;
  readonly limits: { readonly deadlineHours?: number | undefined; readonly budgetUsd?: number | undefined };
}

function Fields({ written, limits }: FieldsProps) {
  const field = (name: keyof WrittenLimits, text: string) => (
    <Field
      text={text}
      mode="decimal"
      value={written.value[name]}
      placeholder={String(limits[name] ?? 'none')}
      onInput={(value) => {
        written.value = { ...written.value, [name]: value };
      }}
    />
  );
  return (
    <p class="tools">
      {field('deadlineHours', 'deadline in hours')}
      {field('budgetUsd', 'budget in USD')}
    </p>
  );
}

function Changed({ answer: { limits, placement } }: { readonly answer: AnswerOf<'putLimits'> }) {
  const deadline =
    limits.deadlineHours === undefined ? 'no deadline' : `a deadline of ${limits.deadlineHours} h`;
  const budget = limits.budgetUsd === undefined ? 'no budget' : `a budget of ${dollarText(limits.budgetUsd)}`;
  return (
    <div role="status">
      <p>{`The run has ${deadline} and ${budget} now.`}</p>
      {placement !== undefined && (
        <>
          <p class="quiet">With them, the last placement would have been:</p>
          <DecisionTable decision={placement} />
        </>
      )}
    </div>
  );
}
