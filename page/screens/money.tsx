/** The screen "Money": what the runs of a month cost, by pipeline, day and pool. */
import { durationText, savedText } from '../../client/amounts.ts';
import { Bars } from '../charts/bars.tsx';
import { dollarText, placeText } from '../model/format.ts';
import { Numbers, numbers, Table } from '../parts/table.tsx';
import { Command, Facts, LeftOutText, Usd } from '../parts/text.tsx';
import { address, hrefOf } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const POLL_SECONDS = 60;

type Money = AnswerOf<'getMoney'>;

export function MoneyScreen() {
  const wanted = address.value.query.get('month') ?? undefined;
  const month = /^\d{4}-\d{2}$/.test(wanted ?? '') ? wanted : undefined;
  const { body, refusal } = useReading('getMoney', { month }, () => POLL_SECONDS);
  return (
    <>
      <h1>{`Money${body === undefined ? '' : ` in ${body.month}`}`}</h1>
      <LeftOutText why={body?.unreadable} />
      {body === undefined ? refusal === undefined && <p>Reading the API…</p> : <Month money={body} />}
      <Command text={`npx tidewheel cost${body === undefined ? '' : ` --month ${body.month}`}`} />
    </>
  );
}

function Month({ money }: { readonly money: Money }) {
  const { total, month, isComplete } = money;
  const earlier = <a href={hrefOf(['money'], { month: monthBefore(month) })}>the month before</a>;
  if (total.runs === 0)
    return <p>No run has ended in this month. A run counts in the month of its end. {earlier}</p>;
  const forecast = forecastUsd(money, new Date());
  return (
    <>
      <Facts
        items={[
          [
            'so far',
            <Usd
              usd={total.costUsd}
              beside={total.onDemandUsd}
              basis="sum of the reports of all runs that ended in this month"
            />,
          ],
          ...(forecast === undefined
            ? []
            : [
                [
                  'if it goes on so',
                  <Usd
                    usd={forecast}
                    basis="the cost so far by the days so far, over all days of the month"
                  />,
                ] as const,
              ]),
          [
            'On-Demand would be',
            <Usd
              usd={total.onDemandUsd}
              beside={total.costUsd}
              basis="what ran at On-Demand prices, failed and stopped runs too: without the work that Spot lost"
            />,
          ],
          ['saved against it', `$${savedText(total)}`],
          [
            'lost work',
            <span
              class="basis"
              title="training that no checkpoint covered, and its share of the cost"
            >{`${dollarText(total.lostUsd)}, ${durationText(total.lostSeconds)}`}</span>,
          ],
          ['runs', total.runs],
          ...promiseItems(total),
        ]}
      />
      {!isComplete && (
        <p class="quiet">There are more runs than one call reads: the sums are of the newest.</p>
      )}
      <Days money={money} />
      <Shares money={money} />
      <p>{earlier}</p>
    </>
  );
}

const promiseItems = ({ promises: { runs, end, cost } }: Money['total']) =>
  runs === 0 ? [] : [['forecasts that held', `end ${end}, cost ${cost} of ${runs}`] as const];

const Days = ({ money: { month, byDay } }: { readonly money: Money }) => (
  <>
    <h2>By day</h2>
    <figure>
      <Bars
        class="days"
        ends={[byDay[0]?.day ?? '', byDay.at(-1)?.day ?? '']}
        label={`cost of each day of ${month}`}
        bars={byDay.map(({ day, costUsd }) => ({ name: `${day}: ${dollarText(costUsd)}`, value: costUsd }))}
      />
      <Numbers id="days">
        {() => (
          <Table
            caption="cost by day"
            columns={['day (UTC)', ...numbers('cost')]}
            rows={byDay.map(({ day, costUsd }) => [day, dollarText(costUsd)])}
          />
        )}
      </Numbers>
    </figure>
  </>
);

interface SpentProps {
  readonly caption: string;
  readonly rows: readonly (Money['total'] & { readonly name: preact.ComponentChildren })[];
}

const SpentTable = ({ caption, rows }: SpentProps) => (
  <Table
    caption={`cost by ${caption}`}
    columns={[caption, ...numbers('runs', 'cost', 'On-Demand would be', 'lost work')]}
    rows={rows.map(({ name, runs, costUsd, onDemandUsd, lostUsd }) => [
      name,
      runs,
      dollarText(costUsd, onDemandUsd),
      dollarText(onDemandUsd, costUsd),
      dollarText(lostUsd),
    ])}
  />
);

const Shares = ({ money: { byPipeline, byOwner, byTag, byPool } }: { readonly money: Money }) => (
  <>
    <h2>By pipeline</h2>
    <SpentTable
      caption="pipeline"
      rows={byPipeline.map(({ pipeline, ...spent }) => ({
        name: (
          <a href={hrefOf(['pipelines', pipeline])} data-row>
            {pipeline}
          </a>
        ),
        ...spent,
      }))}
    />
    {byOwner.some(({ owner }) => owner !== undefined) && (
      <>
        <h2>By owner</h2>
        <SpentTable
          caption="owner"
          rows={byOwner.map(({ owner = 'no owner', ...spent }) => ({ name: owner, ...spent }))}
        />
      </>
    )}
    {byTag.length > 0 && (
      <>
        <h2>By tag</h2>
        <SpentTable
          caption="tag"
          rows={byTag.map(({ tag, value, ...spent }) => ({ name: `${tag} = ${value}`, ...spent }))}
        />
      </>
    )}
    <h2>By pool</h2>
    <Table
      caption="cost by pool"
      columns={['pool', ...numbers('attempts', 'cost', 'lost work')]}
      rows={byPool.map((pool) => [
        placeText(pool),
        pool.attempts,
        dollarText(pool.costUsd),
        durationText(pool.lostSeconds),
      ])}
    />
  </>
);

/** A month of money. Months are those of UTC, as in AWS's bills. */
interface Spent {
  readonly from: string;
  readonly to: string;
  readonly total: { readonly costUsd: number };
}

/** @returns USD by the end of the month at the rate so far; undefined for a month that is over or has just begun */
function forecastUsd({ from, to, total }: Spent, now: Date): number | undefined {
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  const share = (now.getTime() - begin) / (end - begin);
  return share > 0.03 && share < 1 ? total.costUsd / share : undefined;
}

/** @param month such as 2026-01 */
function monthBefore(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 2, 1)).toISOString().slice(0, 7);
}
