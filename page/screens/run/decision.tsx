/** What a placement decided, the table behind it, and what it would have decided with something changed. */
import { useSignal } from '@preact/signals';
import { durationText } from '../../../client/amounts.ts';
import { dollarText, percentText, poolText, priceText } from '../../model/format.ts';
import { fieldOf, SendButton } from '../../parts/controls.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { Basis, Time } from '../../parts/text.tsx';
import { type AnswerOf, client, inWords } from '../../state/api.ts';

type ShownDecision = AnswerOf<'getPlacement'>['decision'];
type Considered = Extract<ShownDecision, { kind: 'wait' }>['considered'][number];

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
  return (
    <>
      <p>
        <strong>{chosen}</strong>
        {`: ${reason} `}
        {isLaunch && <Time at={decision.placement.decidedAt} />}
      </p>
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
  poolText(each),
  each.verdict,
  each.score ?? '',
  <Basis of="one node, at the price of that time">{priceText(each.hourlyUsd)}</Basis>,
  <Basis of={COST_BASIS}>{each.expectedCostUsd === undefined ? '' : dollarText(each.expectedCostUsd)}</Basis>,
  <Basis of={betweenText(each)}>
    {each.expectedSeconds === undefined ? '' : durationText(each.expectedSeconds)}
  </Basis>,
  each.chanceNow === undefined ? '' : percentText(each.chanceNow),
];

const betweenText = ({ expectedSecondsBetween: between }: Considered): string =>
  between === undefined
    ? 'no interval: nothing has been measured yet'
    : `90 % between ${durationText(between[0])} and ${durationText(between[1])}`;

const PURCHASE = ['spot', 'on-demand', 'spot-then-on-demand'] as const;

/** Nothing is started. */
export function WhatIfTable({ runId, attempt }: Readonly<{ runId: string; attempt: number }>) {
  const change = useSignal({ deadlineHours: '', budgetUsd: '', instanceTypes: '', purchaseOption: '' });
  const decided = useSignal<AnswerOf<'getWhatIf'> | undefined>(undefined);
  const field = fieldOf(change);
  const ask = async () => {
    // What the reader has filled in.
    const { instanceTypes, purchaseOption, ...limits } = change.value;
    const given = Object.entries(limits).filter(([, value]) => value !== '');
    const types = instanceTypes.replaceAll(' ', '') || undefined;
    const parameters = {
      runId,
      attempt: String(attempt),
      ...Object.fromEntries(given),
      instanceTypes: types,
    };
    return inWords(
      await client.call('getWhatIf', { ...parameters, purchaseOption: purchaseOption || undefined }),
    );
  };
  return (
    <>
      <p class="quiet">The same question as of that moment, with something changed. Nothing is started.</p>
      <div class="tools">
        {field('deadlineHours', 'deadline in hours')}
        {field('budgetUsd', 'budget in USD')}
        {field('instanceTypes', 'types, with commas', undefined, 'text')}
        <label>
          purchase option
          <select
            value={change.value.purchaseOption}
            onChange={({ currentTarget: { value } }) =>
              (change.value = { ...change.value, purchaseOption: value })
            }
          >
            <option value="">as declared</option>
            {PURCHASE.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <SendButton text="Decide" kind="primary" call={ask} onDone={(body) => (decided.value = body)} />
      </div>
      {decided.value !== undefined && <Otherwise decided={decided.value} />}
    </>
  );
}

export const Otherwise = ({ decided: { changed, notes } }: Readonly<{ decided: AnswerOf<'getWhatIf'> }>) => (
  <div role="status" class="stack">
    <DecisionTable decision={changed} />
    {notes.map((note) => (
      <p key={note} class="quiet">
        {note}
      </p>
    ))}
  </div>
);
