/** The screen "Money": what the runs of a month cost, by pipeline, owner, tag, day and pool. */
import type { ComponentChildren } from 'preact';
import { durationText, savedText } from '../../client/amounts.ts';
import { BarsCard } from '../charts/figure.tsx';
import { dollarText, placeText } from '../model/format.ts';
import { Empty, Frame, Vitals } from '../parts/card.tsx';
import { numbers, TableSection } from '../parts/table.tsx';
import { Basis, LinkButton, RowLink } from '../parts/text.tsx';
import { address, hrefOf } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const POLL_SECONDS = 60;

type Money = AnswerOf<'getMoney'>;
type MoneyProps = Readonly<{ money: Money }>;

export function MoneyScreen() {
  const wanted = address.value.query.get('month') ?? undefined;
  const month = /^\d{4}-\d{2}$/.test(wanted ?? '') ? wanted : undefined;
  const money = useReading('getMoney', { month }, () => POLL_SECONDS);
  const { body } = money;
  const tools = body && (
    <>
      <span class="quiet">{body.month}</span>
      <LinkButton text="The month before" to={['money']} query={{ month: monthBefore(body.month) }} />
    </>
  );
  const command = `cost${body ? ` --month ${body.month}` : ''}`;
  return (
    <Frame title="Money" tools={tools} leftOut={body?.unreadable} of={money} command={command}>
      {(read) =>
        read.total.runs === 0 ? (
          <Empty>No run has ended in this month. A run counts in the month of its end.</Empty>
        ) : (
          <>
            <Vitals label="the month" of={vitalsOf(read)} />
            {!read.isComplete && (
              <p class="quiet">There are more runs than one call reads: the sums are of the newest.</p>
            )}
            <Days money={read} />
            <Shares money={read} />
          </>
        )
      }
    </Frame>
  );
}

const SUM_BASIS = 'sum of the reports of all runs that ended in this month';
const FORECAST_BASIS = 'the cost so far by the days so far, over all days of the month';
const ON_DEMAND_BASIS =
  'what ran at On-Demand prices, failed and stopped runs too: without the work that Spot lost';
const LOST_BASIS = 'training that no checkpoint covered, and its share of the cost';

function vitalsOf(money: Money) {
  const { costUsd, onDemandUsd, lostUsd, lostSeconds, promises, runs, ...saved } = money.total;
  const forecast = forecastUsd(money, new Date());
  const usd = (of: string, value: number, beside = 0) => <Basis of={of}>{dollarText(value, beside)}</Basis>;
  const goesOn = forecast !== undefined && <>{usd(FORECAST_BASIS, forecast)} if it goes on so</>;
  const onDemand = <>On-Demand would be {usd(ON_DEMAND_BASIS, onDemandUsd, costUsd)}</>;
  const { runs: all, end, cost } = promises;
  return [
    { label: 'So far', figure: usd(SUM_BASIS, costUsd, onDemandUsd), note: goesOn },
    { label: 'Saved', figure: `$${savedText({ costUsd, onDemandUsd, ...saved })}`, note: onDemand },
    { label: 'Lost work', figure: usd(LOST_BASIS, lostUsd), note: durationText(lostSeconds) },
    { label: 'Runs', figure: runs, note: all > 0 && `forecasts held: end ${end}, cost ${cost} of ${all}` },
  ];
}

const Days = ({ money: { byDay } }: MoneyProps) => (
  <BarsCard
    title="By day"
    // A day is no block of the whole width.
    places={14}
    bars={byDay.map(({ day, costUsd: value }) => {
      return { name: `${day}: ${dollarText(value)}`, value, kind: 'is-training' };
    })}
    columns={['day (UTC)', ...numbers('cost')]}
    rows={byDay.map(({ day, costUsd }) => [day, dollarText(costUsd)])}
  />
);

type Spent = Omit<Money['total'], 'promises'> & Readonly<{ name: ComponentChildren }>;

const SpentTable = ({ by, rows }: Readonly<{ by: string; rows: readonly Spent[] }>) => (
  <TableSection
    title={`By ${by}`}
    columns={[by, ...numbers('runs', 'cost', 'On-Demand would be', 'lost work')]}
    rows={rows.map(({ name, runs, costUsd, onDemandUsd, lostUsd }) => [
      name,
      runs,
      dollarText(costUsd, onDemandUsd),
      dollarText(onDemandUsd, costUsd),
      dollarText(lostUsd),
    ])}
  />
);

const Shares = ({ money: { byPipeline, byOwner, byTag, byPool } }: MoneyProps) => (
  <>
    <SpentTable
      by="pipeline"
      rows={byPipeline.map(({ pipeline, ...each }) => {
        return { ...each, name: <RowLink name={pipeline} href={hrefOf(['pipelines', pipeline])} /> };
      })}
    />
    {byOwner.some(({ owner }) => owner !== undefined) && (
      <SpentTable by="owner" rows={byOwner.map((each) => ({ ...each, name: each.owner ?? 'no owner' }))} />
    )}
    {byTag.length > 0 && (
      <SpentTable by="tag" rows={byTag.map((each) => ({ ...each, name: `${each.tag} = ${each.value}` }))} />
    )}
    <TableSection
      title="By pool"
      columns={['pool', ...numbers('attempts', 'cost', 'lost work')]}
      rows={byPool.map((pool) => {
        return [placeText(pool), pool.attempts, dollarText(pool.costUsd), durationText(pool.lostSeconds)];
      })}
    />
  </>
);

/** @returns USD by the end of the month at the rate so far; undefined for a month that is over or has just begun */
function forecastUsd({ from, to, total }: Money, now: Date): number | undefined {
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  const share = (now.getTime() - begin) / (end - begin);
  return share > 0.03 && share < 1 ? total.costUsd / share : undefined;
}

/** Months are those of UTC, as in AWS's bills. @param month such as 2026-01 */
function monthBefore(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 2, 1)).toISOString().slice(0, 7);
}
