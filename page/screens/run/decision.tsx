/** What a placement decided, and the table behind it. */
import { durationText } from '../../../client/amounts.ts';
import { dollarText, percentText, poolText, priceText } from '../../model/format.ts';
import { numbers, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/text.tsx';
import type { AnswerOf } from '../../state/api.ts';

export type ShownDecision = AnswerOf<'getPlacement'>['decision'];
type Considered = Extract<ShownDecision, { kind: 'wait' }>['considered'][number];

export function DecisionTable({ decision }: { readonly decision: ShownDecision }) {
  const isLaunch = decision.kind === 'launch';
  const { reason, considered } = isLaunch ? decision.placement : decision;
  return (
    <>
      <p>
        <strong>
          {isLaunch
            ? poolText(decision.placement)
            : decision.kind === 'wait'
              ? `wait ${durationText(decision.seconds)}`
              : 'give up'}
        </strong>
        {`: ${reason} `}
        {isLaunch && <Time at={decision.placement.decidedAt} />}
      </p>
      <Table
        caption="pools that were considered"
        columns={[
          'pool',
          ...numbers('score', 'an hour', 'expected cost', 'time of the work', 'chance now'),
          'verdict',
        ]}
        rows={considered.map(rowOf)}
      />
    </>
  );
}

const rowOf = (each: Considered) => [
  poolText(each),
  each.score ?? '',
  <span class="basis" title="one node, at the price of that time">
    {priceText(each.hourlyUsd)}
  </span>,
  <span
    class="basis"
    title="of the rest of the run: waiting, starting, training, interruptions and copies between regions"
  >
    {each.expectedCostUsd === undefined ? '' : dollarText(each.expectedCostUsd)}
  </span>,
  <span class="basis" title={betweenText(each)}>
    {each.expectedSeconds === undefined ? '' : durationText(each.expectedSeconds)}
  </span>,
  each.chanceNow === undefined ? '' : percentText(each.chanceNow),
  each.verdict,
];

const betweenText = ({ expectedSecondsBetween: between }: Considered): string =>
  between === undefined
    ? 'no interval: nothing has been measured yet'
    : `90 % between ${durationText(between[0])} and ${durationText(between[1])}`;
