/** What a placement decided, and the table behind it. */
import { durationText } from '../../../client/amounts.ts';
import { dollarText, percentText, poolText, priceText } from '../../model/format.ts';
import { numbers, Table } from '../../parts/table.tsx';
import { Basis, Time } from '../../parts/text.tsx';
import type { AnswerOf } from '../../state/api.ts';

type ShownDecision = AnswerOf<'getPlacement'>['decision'];
type Considered = Extract<ShownDecision, { kind: 'wait' }>['considered'][number];

export function DecisionTable({ decision }: { readonly decision: ShownDecision }) {
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
        columns={[
          'pool',
          'verdict',
          ...numbers('score', 'an hour', 'expected cost', 'time of the work', 'chance now'),
        ]}
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
  <Basis of={betweenText(each)}>{each.expectedSeconds === undefined ? '' : durationText(each.expectedSeconds)}</Basis>,
  each.chanceNow === undefined ? '' : percentText(each.chanceNow),
];

const betweenText = ({ expectedSecondsBetween: between }: Considered): string =>
  between === undefined
    ? 'no interval: nothing has been measured yet'
    : `90 % between ${durationText(between[0])} and ${durationText(between[1])}`;
