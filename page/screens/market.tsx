/** The screen "Market": zones by types, with score, price and our own luck, and who holds capacity now. */
import { percentText, poolText, priceText, timeText } from '../model/format.ts';
import { Empty, Frame, Section } from '../parts/card.tsx';
import { ChoiceButtons, DialogButton } from '../parts/controls.tsx';
import { numbers, Table, TableSection } from '../parts/table.tsx';
import { RunLink, Time } from '../parts/text.tsx';
import { address } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const POLL_SECONDS = 60;
const HIGHEST_SCORE = 10;
const DAYS = [1, 7, 30, 90] as const;
const daysText = (days: number): string => (days === 1 ? '1 day' : `${days} days`);

type Pool = AnswerOf<'getMarket'>['pools'][number];

const LEGENDS = {
  score: 'Spot placement score of AWS, 1 to 10, no promise: the greener, the likelier a gang starts.',
  price: 'Spot price of an instance in an hour, and its share of On-Demand: the greener, the cheaper.',
  luck: 'Our own Spot attempts: kept to their end / interrupted / without capacity.',
} as const;
const SHOWN = ['score', 'price', 'luck'] as const;
type Shown = (typeof SHOWN)[number];

export function MarketScreen() {
  const { query } = address.value;
  const days = DAYS.find((each) => String(each) === query.get('days')) ?? 7;
  const shown = SHOWN.find((each) => each === query.get('show')) ?? 'score';
  const market = useReading('getMarket', { days }, () => POLL_SECONDS);
  const tools = (
    <>
      <ChoiceButtons word="show" values={SHOWN} chosen={shown} />
      <ChoiceButtons word="days" values={DAYS} chosen={days} text={daysText} />
    </>
  );
  return (
    <Frame title="Market" tools={tools} of={market} command={`market --days ${days}`}>
      {({ pools, running }) => (
        <>
          {(shown === 'luck' ? pools.length === 0 : pools.every(({ readAt }) => !readAt)) && (
            <Empty>
              No look at the market is on record yet. The service looks every 15 minutes at the types that
              valid declarations name, where they may use Spot.
            </Empty>
          )}
          {pools.length > 0 && <Pools pools={pools} shown={shown} days={days} />}
          {running.length === 0 ? (
            <Empty>No attempt is open: none holds capacity now.</Empty>
          ) : (
            <TableSection
              title="Who holds capacity now"
              columns={['run', 'attempt', 'pool', 'since']}
              rows={running.map((open) => [
                <RunLink runId={open.runId} />,
                open.attempt,
                poolText({ pool: open, topology: open }),
                <Time at={open.since} />,
              ])}
            />
          )}
        </>
      )}
    </Frame>
  );
}

type PoolsProps = Readonly<{ pools: readonly Pool[]; shown: Shown; days: number }>;

/** A table whose cells are coloured by their number: colour never alone, each cell says its number. */
function Pools({ pools, shown, days }: PoolsProps) {
  const zones = [...new Set(pools.map(({ zoneId }) => zoneId))].sort();
  const types = [...new Set(pools.map(({ instanceType }) => instanceType))].sort();
  const history = (
    <DialogButton text="History…" title="Scores and prices">
      {() => <History pools={pools} days={days} />}
    </DialogButton>
  );
  return (
    <Section title="Types by zones" note={LEGENDS[shown]} tools={history}>
      <Table caption={`${shown} by type and zone`} columns={['type', ...zones]}>
        {types.map((type) => (
          <tr key={type}>
            <th scope="row">{type}</th>
            {zones.map((zone) => {
              const pool = pools.find((each) => each.instanceType === type && each.zoneId === zone);
              const { text = '–', heat } = (pool && cellOf(pool, shown)) ?? {};
              // The worst is coloured too, the unknown is not.
              const look =
                heat === undefined ? {} : { class: 'heat', style: { '--heat': `${6 + 30 * heat}%` } };
              return (
                <td key={zone} title={titleOf(pool)} {...look}>
                  {text}
                </td>
              );
            })}
          </tr>
        ))}
      </Table>
    </Section>
  );
}

function titleOf(pool: Pool | undefined): string {
  if (pool === undefined) return 'nothing is on record';
  return pool.readAt ? `read ${timeText(pool.readAt)}` : 'only our own attempts';
}

const History = ({ pools, days }: Omit<PoolsProps, 'shown'>) => (
  <Table
    caption={`scores and prices of ${daysText(days)}`}
    columns={['type', 'zone', 'time', ...numbers('score', 'Spot price of an hour')]}
    rows={pools.flatMap(({ instanceType, zoneId, history }) =>
      history.map(({ at, score, spotUsd }) => {
        return [instanceType, zoneId, <Time at={at} />, score, spotUsd && priceText(spotUsd)];
      }),
    )}
  />
);

/** `heat` from 0 to 1; undefined: nothing is known. */
function cellOf({ score, spotUsd, onDemandUsd, luck }: Pool, shown: Shown) {
  if (shown === 'score')
    return score === undefined ? undefined : { text: score, heat: score / HIGHEST_SCORE };
  if (shown === 'luck') {
    const { kept, lost, refused } = luck;
    const all = kept + lost + refused;
    return all === 0 ? undefined : { text: `${kept} / ${lost} / ${refused}`, heat: kept / all };
  }
  if (spotUsd === undefined) return undefined;
  if (onDemandUsd === undefined) return { text: priceText(spotUsd) };
  const share = spotUsd / onDemandUsd;
  return { text: `${priceText(spotUsd)} (${percentText(share)})`, heat: Math.max(0, 1 - share) };
}
