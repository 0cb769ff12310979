/** The screen "Market": zones by types, with score, price and our own luck, and who holds capacity now. */

import type { ComponentChildren } from 'preact';
import { percentText, poolText, priceText } from '../model/format.ts';
import { Empty, Head, Read, Section } from '../parts/card.tsx';
import { Action, Choice } from '../parts/controls.tsx';
import { numbers, Table, TableFrame } from '../parts/table.tsx';
import { Command, RunLink, Time } from '../parts/text.tsx';
import { address } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const POLL_SECONDS = 60;
const HIGHEST_SCORE = 10;
const DAYS = [1, 7, 30, 90] as const;
const SHOWN = ['score', 'price', 'luck'] as const;
type Shown = (typeof SHOWN)[number];

type Market = AnswerOf<'getMarket'>;
type Pool = Market['pools'][number];

export function MarketScreen() {
  const { query } = address.value;
  const days = DAYS.find((each) => String(each) === query.get('days')) ?? 7;
  const shown = SHOWN.find((each) => each === query.get('show')) ?? 'score';
  const market = useReading('getMarket', { days }, () => POLL_SECONDS);
  return (
    <>
      <Head title="Market">
        <Choice word="show" values={SHOWN} chosen={shown} />
        <Choice
          word="days"
          values={DAYS}
          chosen={days}
          text={(each) => (each === 1 ? '1 day' : `${each} days`)}
        />
      </Head>
      <Read of={market}>
        {(body) => (
          <>
            <Pools market={body} shown={shown} days={days} />
            <Running market={body} />
          </>
        )}
      </Read>
      <Command text={`npx tidewheel market --days ${days}`} />
    </>
  );
}

interface PoolsProps {
  readonly market: Market;
  readonly shown: Shown;
  readonly days: number;
}

function Pools({ market: { pools }, shown, days }: PoolsProps) {
  const isUnread = pools.every(({ readAt }) => readAt === undefined);
  if (pools.length === 0) return <Unread />;
  const zones = [...new Set(pools.map(({ zoneId }) => zoneId))].sort();
  const types = [...new Set(pools.map(({ instanceType }) => instanceType))].sort();
  const poolAt = (type: string, zone: string) =>
    pools.find((each) => each.instanceType === type && each.zoneId === zone);
  const rows = types.map((name) => ({ name, cells: zones.map((zone) => cellOf(poolAt(name, zone), shown)) }));
  return (
    <Section
      title="Types by zones"
      note={LEGENDS[shown]}
      tools={
        <Action text="History…" title="Scores and prices" isWide>
          {() => <History pools={pools} days={days} />}
        </Action>
      }
    >
      {isUnread && shown !== 'luck' && <Unread />}
      <HeatMap caption={`${shown} by type and zone`} columns={zones} rows={rows} />
    </Section>
  );
}

const Unread = () => (
  <Empty>
    No look at the market is on record yet. The service looks every 15 minutes at the types that valid
    declarations name, where they may use Spot.
  </Empty>
);

const LEGENDS: Readonly<Record<Shown, string>> = {
  score:
    'Spot placement score of AWS, 1 to 10: the greener, the likelier a whole gang starts. It is no promise.',
  price:
    'Spot price of one instance in an hour, and its share of the On-Demand price: the greener, the cheaper.',
  luck: 'Our own Spot attempts: kept to their end / interrupted / without capacity.',
};

function cellOf(pool: Pool | undefined, shown: Shown): HeatCell {
  if (pool === undefined) return { text: '–', heat: undefined, title: 'nothing is on record' };
  const title =
    pool.readAt === undefined ? 'only our own attempts' : `read ${new Date(pool.readAt).toLocaleString()}`;
  switch (shown) {
    case 'score':
      return {
        text: pool.score ?? '–',
        heat: pool.score === undefined ? undefined : pool.score / HIGHEST_SCORE,
        title,
      };
    case 'price':
      return priceCell(pool, title);
    case 'luck': {
      const { kept, lost, refused } = pool.luck;
      const all = kept + lost + refused;
      return {
        text: all === 0 ? '–' : `${kept} / ${lost} / ${refused}`,
        heat: all === 0 ? undefined : kept / all,
        title,
      };
    }
  }
}

function priceCell({ spotUsd, onDemandUsd }: Pool, title: string): HeatCell {
  if (spotUsd === undefined) return { text: '–', heat: undefined, title };
  if (onDemandUsd === undefined) return { text: priceText(spotUsd), heat: undefined, title };
  const share = spotUsd / onDemandUsd;
  return {
    text: `${priceText(spotUsd)} (${percentText(share)})`,
    heat: Math.max(0, 1 - share),
    title,
  };
}

const History = ({ pools, days }: { readonly pools: readonly Pool[]; readonly days: number }) => (
  <Table
    caption={`scores and prices of ${days} days`}
    columns={['type', 'zone', 'time', ...numbers('score', 'Spot price of an hour')]}
    rows={pools.flatMap(({ instanceType, zoneId, history }) =>
      history.map(({ at, score, spotUsd }) => [
        instanceType,
        zoneId,
        <Time at={at} />,
        score ?? '',
        spotUsd === undefined ? '' : priceText(spotUsd),
      ]),
    )}
  />
);

const Running = ({ market: { running } }: { readonly market: Market }) => (
  <Section title="Who holds capacity now">
    {running.length === 0 ? (
      <Empty>No attempt is open.</Empty>
    ) : (
      <Table
        caption="open attempts"
        columns={['run', 'attempt', 'pool', 'since']}
        rows={running.map((open) => [
          <RunLink runId={open.runId} />,
          open.attempt,
          poolText({ pool: open, topology: open }),
          <Time at={open.since} />,
        ])}
      />
    )}
  </Section>
);

/** A table whose cells are coloured by their number: colour never alone, each cell says its number. */
interface HeatCell {
  readonly text: ComponentChildren;
  /** From 0 to 1; undefined: nothing is known. */
  readonly heat: number | undefined;
  readonly title: string;
}

interface HeatMapProps {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly HeatCell[] }[];
}

const STEPS = 5;

const HeatMap = ({ caption, columns, rows }: HeatMapProps) => (
  <TableFrame caption={caption} columns={['type', ...columns]}>
    {rows.map(({ name, cells }) => (
      <tr key={name}>
        <th scope="row">{name}</th>
        {cells.map(({ text, heat, title }, place) => (
          <td key={place} class={`heat heat-${stepOf(heat)}`} title={title}>
            {text}
          </td>
        ))}
      </tr>
    ))}
  </TableFrame>
);

const stepOf = (heat: number | undefined): string =>
  heat === undefined ? 'none' : String(Math.min(STEPS - 1, Math.floor(heat * STEPS)));
