/** What a placement decided, the table behind it, and what it would decide otherwise, before and after limits change. */
import { useSignal } from '@preact/signals';
import { durationText } from '../../../client/amounts.ts';
import { dollarText, percentText, poolText, priceText } from '../../model/format.ts';
import { LIMITS, parseLimits } from '../../model/limits.ts';
import { Field, SendButton } from '../../parts/controls.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { Basis, Time } from '../../parts/text.tsx';
import { type AnswerOf, ask } from '../../state/api.ts';

type ShownDecision = AnswerOf<'getPlacement'>['decision'];
type Considered = Extract<ShownDecision, { kind: 'wait' }>['considered'][number];
type Limits = Partial<Readonly<Record<keyof typeof LIMITS, number | undefined>>>;

const COLUMNS = [
  'pool',
  'verdict',
  ...numbers('score', 'an hour', 'expected cost', 'time of the work', 'chance now'),
];

export function DecisionTable({ decision }: Readonly<{ decision: ShownDecision }>) {
  const isLaunch = decision.kind === 'launch';
  const { reason, considered } = isLaunch ? decision.placement : decision;
  const wait = decision.kind === 'wait' ? `wait ${durationText(decision.seconds)}` : 'give up';
  const chosen = isLaunch ? poolText(decision.placement) : wait;
  const offers = decision.kind === 'giveUp' ? [] : (decision.offers ?? []);
  return (
    <>
      <p>
        <strong>{chosen}</strong>
        {`: ${reason} `}
        {isLaunch && <Time at={decision.placement.decidedAt} />}
      </p>
      {offers.map((text) => (
        <p key={text}>{text}</p>
      ))}
      <Table
        caption="pools that were considered"
        columns={COLUMNS}
        rows={considered.map(rowOf)}
        chosen={considered.findIndex((each) => poolText(each) === chosen)}
      />
    </>
  );
}

const COST_BASIS =
  'of the rest of the run: waiting, starting, training, interruptions and copies between regions';

const rowOf = (each: Considered) => [
  <span class="clip" title={poolText(each)}>
    {poolText(each)}
  </span>,
  each.verdict,
  each.score,
  <Basis of="one node, at the price of that time">{priceText(each.hourlyUsd)}</Basis>,
  <Basis of={COST_BASIS}>{each.expectedCostUsd !== undefined && dollarText(each.expectedCostUsd)}</Basis>,
  <Basis of={betweenText(each)}>
    {each.expectedSeconds !== undefined && durationText(each.expectedSeconds)}
  </Basis>,
  each.chanceNow !== undefined && percentText(each.chanceNow),
];

const betweenText = ({ expectedSecondsBetween: between }: Considered): string =>
  between === undefined
    ? 'no interval: nothing has been measured yet'
    : `90 % between ${durationText(between[0])} and ${durationText(between[1])}`;

const PURCHASE = ['', 'spot', 'on-demand', 'spot-then-on-demand'];

type Otherwise = Readonly<{ said?: string; decision?: ShownDecision | undefined; notes?: readonly string[] }>;

/** `limits` are those that hold, where they can be changed; `onChange` reads the run again. */
type QuestionProps = Readonly<{ runId: string; attempt: string; limits?: Limits; onChange?: () => void }>;

/** Asks a placement again with something changed. Nothing is started. */
export function Question({ runId, attempt, limits, onChange }: QuestionProps) {
  const otherwise = useSignal<Otherwise | undefined>(undefined);
  const limitField = (name: keyof Limits) => {
    const placeholder = limits && String(limits[name] ?? 'none');
    return <Field type="number" name={name} label={LIMITS[name]} placeholder={placeholder} />;
  };
  return (
    <>
      <p class="quiet">
        {limits === undefined
          ? 'The same question as of that moment, with something changed. Nothing is started.'
          : 'The deadline counts from the close of the batch. An empty field stays as it is. The run goes on where it is: new limits hold from the next look at it, within five minutes.'}
      </p>
      <div class="row">
        {limitField('deadlineHours')}
        {limitField('budgetUsd')}
        {limits === undefined && (
          <>
            <Field name="instanceTypes" label="types, with commas" />
            <label>
              purchase option
              <select name="purchaseOption">
                {PURCHASE.map((each) => (
                  <option key={each} value={each}>
                    {each || 'as declared'}
                  </option>
                ))}
              </select>
            </label>
          </>
        )}
      </div>
      <div class="row">
        {attempt !== '' && (
          <SendButton
            text="What would placement do?"
            call={({ instanceTypes = '', ...given }) => {
              const types = instanceTypes.replaceAll(' ', '') || undefined;
              return ask('getWhatIf', { runId, attempt, ...given, instanceTypes: types });
            }}
            onDone={(body) => (otherwise.value = body && { decision: body.changed, notes: body.notes })}
          />
        )}
        {limits && (
          <SendButton
            text="Change the limits"
            kind="primary"
            call={(given) => changeLimits(runId, given)}
            onDone={(body) => {
              otherwise.value = body && { said: changedText(body.limits), decision: body.placement };
              onChange?.();
            }}
          />
        )}
      </div>
      {otherwise.value && <Answer {...otherwise.value} />}
    </>
  );
}

function changeLimits(runId: string, given: Readonly<Record<string, string>>) {
  const body = parseLimits(given);
  if (typeof body === 'string') return { kind: 'refused', message: body } as const;
  return ask('putLimits', { runId, body });
}

const Answer = ({ said, decision, notes = [] }: Otherwise) => (
  <div role="status" class="stack">
    {said && <p>{said}</p>}
    {said && decision && <p class="quiet">With them, the last placement would have been:</p>}
    {decision && <DecisionTable decision={decision} />}
    <p class="quiet">{notes.join(' ')}</p>
  </div>
);

function changedText({ deadlineHours, budgetUsd }: AnswerOf<'putLimits'>['limits']): string {
  const deadline = deadlineHours === undefined ? 'no deadline' : `a deadline of ${deadlineHours} h`;
  const budget = budgetUsd === undefined ? 'no budget' : `a budget of ${dollarText(budgetUsd)}`;
  return `The run has ${deadline} and ${budget} now.`;
}
