/** The screen "Money": what the runs of a month cost, by pipeline, day and pool. */
import { durationText, savedText } from '../../client/amounts.ts';
import { Bars } from '../charts/bars.tsx';
import { dollarText, placeText } from '../model/format.ts';
import { Empty, Head, Read, Section } from '../parts/card.tsx';
import { Action } from '../parts/controls.tsx';
import { numbers, Table } from '../parts/table.tsx';
import { Basis, Command, LeftOutText, Usd } from '../parts/text.tsx';
import { address, hrefOf } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const POLL_SECONDS = 60;

type Money = AnswerOf<'getMoney'>;

export function MoneyScreen() {
  const wanted = address.value.query.get('month') ?? undefined;
  const month = /^\d{4}-\d{2}$/.test(wanted ?? '') ? wanted : undefined;
  const money = useReading('getMoney', { month }, () => POLL_SECONDS);
  const { body } = money;
  return (
    <>
      <Head title="Money">
        {body !== undefined && (
          <>
            <span class="quiet">{body.month}</span>
            <a class="button" href={hrefOf(['money'], { month: monthBefore(body.month) })}>
              The month before
            </a>
          </>
        )}
      </Head>
      <LeftOutText why={body?.unreadable} />
      <Read of={money}>{(read) => <Month money={read} />}</Read>
      <Command text={`npx tidewheel cost${body === undefined ? '' : ` --month ${body.month}`}`} />
    </>
  );
}

function Month({ money }: { readonly money: Money }) {
  const { total, isComplete } = money;
  if (total.runs === 0)
    return <Empty>No run has ended in this month. A run counts in the month of its end.</Empty>;
  return (
    <>
      <Vitals money={money} />
      {!isComplete && (
        <p class="quiet">There are more runs than one call reads: the sums are of the newest.</p>
      )}
      <Days money={money} />
      <Shares money={money} />
    </>
  );
}

const ON_DEMAND_BASIS =
  'what ran at On-Demand prices, failed and stopped runs too: without the work that Spot lost';

function Vitals({ money }: { readonly money: Money }) {
  const { total } = money;
  const { costUsd, onDemandUsd, lostUsd, lostSeconds, runs, promises } = total;
  const forecast = forecastUsd(money, new Date());
  return (
    <section class="card vitals" aria-label="the month">
      <div>
        <p class="label">So far</p>
        <b>
          <Usd
            usd={costUsd}
            beside={onDemandUsd}
            basis="sum of the reports of all runs that ended in this month"
          />
        </b>
        {forecast !== undefined && (
          <p class="quiet">
            <Usd usd={forecast} basis="the cost so far by the days so far, over all days of the month" /> if
            it goes on so
          </p>
        )}
      </div>
      <div>
        <p class="label">Saved</p>
        <b>{`$${savedText(total)}`}</b>
        <p class="quiet">
          On-Demand would be <Usd usd={onDemandUsd} beside={costUsd} basis={ON_DEMAND_BASIS} />
        </p>
      </div>
      <div>
        <p class="label">Lost work</p>
        <b>
          <Basis of="training that no checkpoint covered, and its share of the cost">
            {dollarText(lostUsd)}
          </Basis>
        </b>
        <p class="quiet">{durationText(lostSeconds)}</p>
      </div>
      <div>
        <p class="label">Runs</p>
        <b>{runs.toLocaleString()}</b>
        {promises.runs > 0 && (
          <p class="quiet">{`forecasts held: end ${promises.end}, cost ${promises.cost} of ${promises.runs}`}</p>
        )}
      </div>
    </section>
  );
}

const LEAST_DAYS = 14;

const Days = ({ money: { month, byDay } }: { readonly money: Money }) => (
  <Section
    title="By day"
    tools={
      <Action text="As a table" title="Cost by day">
        {() => (
          <Table
            caption="cost by day"
            columns={['day (UTC)', ...numbers('cost')]}
            rows={byDay.map(({ day, costUsd }) => [day, dollarText(costUsd)])}
          />
        )}
      </Action>
    }
  >
    <figure class="card pad">
      <Bars
        class="bars"
        places={LEAST_DAYS}
        ends={[byDay[0]?.day ?? '', byDay.length > 1 ? (byDay.at(-1)?.day ?? '') : '']}
        label={`cost of each day of ${month}`}
        bars={byDay.map(({ day, costUsd }) => ({
          name: `${day}: ${dollarText(costUsd)}`,
          value: costUsd,
          kind: 'is-training',
        }))}
      />
    </figure>
  </Section>
);

interface SpentProps {
  readonly caption: string;
  readonly rows: readonly (Money['total'] & { readonly name: preact.ComponentChildren })[];
}

const SpentTable = ({ caption, rows }: SpentProps) => (
  <Section title={`By ${caption}`}>
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
  </Section>
);

const Shares = ({ money: { byPipeline, byOwner, byTag, byPool } }: { readonly money: Money }) => (
  <>
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
        <SpentTable
          caption="owner"
          rows={byOwner.map(({ owner = 'no owner', ...spent }) => ({ name: owner, ...spent }))}
        />
      </>
    )}
    {byTag.length > 0 && (
      <>
        <SpentTable
          caption="tag"
          rows={byTag.map(({ tag, value, ...spent }) => ({ name: `${tag} = ${value}`, ...spent }))}
        />
      </>
    )}
    <Section title="By pool">
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
    </Section>
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
