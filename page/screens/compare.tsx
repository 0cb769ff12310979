/** The screen "Compare": curves of two to six runs over each other, their figures, and what differs between them. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { durationText } from '../../client/amounts.ts';
import { timeOf } from '../../client/run-view.ts';
import { Chart, Swatch } from '../charts/chart.tsx';
import { joined } from '../charts/plot.tsx';
import { differences, pointsOf } from '../model/compared-runs.ts';
import { AXES, type AxisName, bestOf, inOrder, isFalling, type SeriesView, unitOf } from '../model/curve.ts';
import { dollarText, shortName, shortNumber } from '../model/format.ts';
import { leadingName } from '../model/leading.ts';
import { Empty, Head, Section, Skeleton } from '../parts/card.tsx';
import { Choice } from '../parts/controls.tsx';
import { numbers, Table } from '../parts/table.tsx';
import { Command, Pill, RunLink } from '../parts/text.tsx';
import { address, hrefOf, setQuery } from '../state/address.ts';
import { type AnswerOf, client, inWords } from '../state/api.ts';

const MOST_RUNS = 6;
const POINTS = 500;
const COLOURS = ['--runs', '--on-demand', '--spot', '--bad', '--warn', '--quiet'];
const DASHES = [undefined, [8, 3], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4]];

interface Read {
  readonly view: AnswerOf<'getRun'>;
  readonly series: readonly SeriesView[];
}

/** Runs of the address in its order; a text says why one was not read. */
function useRunsOf(names: readonly string[]) {
  const known = useSignal<ReadonlyMap<string, Read | string>>(new Map());
  const read = (runId: string): void =>
    void readRun(runId).then((one) => {
      known.value = new Map([...known.value, [runId, one]]);
    });
  useEffect(() => {
    for (const runId of names) if (!known.value.has(runId)) read(runId);
  }, [names.join(' ')]);
  return { known: known.value, read };
}

async function readRun(runId: string): Promise<Read | string> {
  const [run, series] = await Promise.all([
    client.call('getRun', { runId }).then(inWords),
    client.call('getSeries', { runId, points: POINTS }).then(inWords),
  ]);
  if (run.kind !== 'ok') return run.kind === 'refused' ? run.message : 'the API gives no answer';
  return { view: run.body, series: series.kind === 'ok' ? series.body.series : [] };
}

export function CompareScreen() {
  const { query } = address.value;
  const names = [...new Set((query.get('runs') ?? '').split(',').filter(Boolean))].slice(0, MOST_RUNS);
  const by = AXES.find((each) => each === query.get('x')) ?? 'step';
  const { known, read } = useRunsOf(names);
  const runs = names.flatMap((name) => {
    const one = known.get(name);
    return one === undefined || typeof one === 'string' ? [] : [one];
  });
  const isOpen = names.some((name) => !known.has(name));
  return (
    <>
      <Head title="Compare">
        <Choice word="x" values={AXES} chosen={by} text={(each) => (each === 'dollars' ? '$' : each)} />
      </Head>
      <Chosen names={names} />
      {names.map((name) => {
        const why = known.get(name);
        return typeof why !== 'string' ? null : (
          <div key={name} class="alert">
            <p class="problem">{`${name}: ${why}`}</p>
            <button type="button" onClick={() => read(name)}>
              Try again
            </button>
          </div>
        );
      })}
      {names.length === 0 ? (
        <Empty>
          <p>Pick two to six runs in the list of all runs, or add one by its id.</p>
          <a class="button" href={hrefOf(['runs'])}>
            Runs
          </a>
        </Empty>
      ) : isOpen ? (
        <Skeleton rows={10} />
      ) : (
        runs.length > 0 && <Compared runs={runs} by={by} />
      )}
      <Command text={`npx tidewheel compare ${names.join(' ') || 'RUN RUN'}`} />
    </>
  );
}

function Chosen({ names }: { readonly names: readonly string[] }) {
  const text = useSignal('');
  const setNames = (next: readonly string[]): void => setQuery({ runs: next.join(',') });
  const add = (event: Event): void => {
    event.preventDefault();
    if (text.value.trim() !== '') setNames([...names, text.value.trim()]);
    text.value = '';
  };
  return (
    <form class="tools" onSubmit={add}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          aria-label={`take ${name} out`}
          onClick={() => setNames(names.filter((each) => each !== name))}
        >
          {`${shortName(name)} ×`}
        </button>
      ))}
      {names.length < MOST_RUNS && (
        <input
          id="find"
          aria-label="run"
          value={text.value}
          placeholder="digits-000001"
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
      )}
      <button type="submit">Add</button>
    </form>
  );
}

interface ComparedProps {
  readonly runs: readonly Read[];
  readonly by: AxisName;
}

function Compared({ runs, by }: ComparedProps) {
  const names = [
    ...new Set(
      runs.flatMap(({ view, series }) => inOrder(series, leadingName(view, series)).map(({ name }) => name)),
    ),
  ];
  const wanted = address.value.query.get('series') ?? names[0];
  const differing = differences(runs.map(({ view }) => view.run));
  return (
    <>
      {wanted === undefined ? (
        <Empty>None of them has printed a number yet.</Empty>
      ) : (
        <>
          <label>
            series{' '}
            <select
              value={wanted}
              onChange={({ currentTarget }) => setQuery({ series: currentTarget.value })}
            >
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <Overlaid runs={runs} by={by} name={wanted} />
        </>
      )}
      <Figures runs={runs} name={wanted} />
      <Section title="What differs" note="equal settings are hidden">
        {differing.length === 0 ? (
          <Empty>Nothing that was declared, and they read the same data.</Empty>
        ) : (
          <Table
            caption="what differs"
            columns={['setting', ...runColumns(runs)]}
            rows={differing.map(({ field, values }) => [
              field.replace('training.hyperparameters.', ''),
              ...values,
            ])}
          />
        )}
      </Section>
    </>
  );
}

function Overlaid({ runs, by, name }: ComparedProps & { readonly name: string }) {
  const lines = runs.flatMap(({ view, series }) => {
    const own = inOrder(series, name).find((each) => each.name === name);
    return own === undefined
      ? []
      : [{ label: view.run.runId, unit: own.unit, points: pointsOf(own, view, by) }];
  });
  const data = useMemo(() => joined(lines.map(({ points }) => points)), [runs, by, name]);
  if (lines.length === 0) return <Empty>None of them has this series.</Empty>;
  const unit = { step: lines[0]?.unit ?? 'step', time: 'hour', dollars: '$' }[by];
  const valueText = (value: number): string => `${shortNumber(value)}${unitOf(name)}`;
  return (
    <Chart
      name={name}
      note={`${lines.length} runs by ${by}`}
      label={`${name} of ${lines.length} runs by ${by}`}
      axis={`compared ${by}`}
      lines={lines.map(({ label }, place) => ({
        label,
        colour: COLOURS[place] ?? '--quiet',
        ...(DASHES[place] && { dash: DASHES[place] }),
      }))}
      data={data}
      valueText={valueText}
      xText={(x) => `${unit} ${shortNumber(x)}`}
      legend={lines.map(({ label }) => label)}
      isLarge
      table={{
        columns: ['run', ...numbers(unit, name)],
        rows: () =>
          lines.flatMap(({ label, points: [x, y] }) => x.map((each, place) => [label, each, y[place] ?? ''])),
      }}
    />
  );
}

/** A run has the colour of its curve. */
const runColumns = (runs: readonly Read[]) =>
  runs.map(({ view: { run } }, place) => ({
    title: run.runId,
    head: (
      <span class="cell">
        <Swatch place={place} />
        <RunLink runId={run.runId} />
      </span>
    ),
  }));

interface Figure {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
  readonly text: (value: number) => string;
  /** Which is best. */
  readonly isLowBest: boolean;
}

/** The best of each row stands out. */
function Figures({ runs, name }: { readonly runs: readonly Read[]; readonly name: string | undefined }) {
  const best = ({ series }: Read, metric: string) => {
    const own = series.find((each) => each.name === metric);
    return own && bestOf(own)?.value;
  };
  const low = { isLowBest: true, text: dollarText };
  const figures: Figure[] = [
    ...(name === undefined
      ? []
      : [
          {
            name: `best ${name}`,
            values: runs.map((run) => best(run, name)),
            text: shortNumber,
            isLowBest: isFalling(name),
          },
        ]),
    { ...low, name: 'cost', values: runs.map(({ view: { report, money } }) => report?.costUsd ?? money.usd) },
    {
      ...low,
      name: 'On-Demand would be',
      values: runs.map(({ view: { report, money } }) => report?.onDemandUsd ?? money.onDemandUsd),
    },
    { ...low, name: 'took', values: runs.map(tookSeconds), text: durationText },
    {
      ...low,
      name: 'interruptions',
      values: runs.map(({ view }) => view.report?.interruptions),
      text: String,
    },
    {
      ...low,
      name: 'lost work',
      values: runs.map(({ view }) => view.money.lost.seconds),
      text: durationText,
    },
  ];
  return (
    <Section title="Figures">
      <Table
        caption="outcomes"
        columns={['', ...runColumns(runs)]}
        rows={[
          ['state', ...runs.map(({ view }) => <Pill status={view.run.status} />)],
          ...figures.map(rowOf),
        ]}
      />
    </Section>
  );
}

const tookSeconds = ({ view: { run, report } }: Read): number | undefined => {
  const end = timeOf(report?.finishedAt);
  return end === undefined ? undefined : (end - Date.parse(run.createdAt)) / 1000;
};

function rowOf({ name, values, text, isLowBest }: Figure) {
  const known = values.filter((value) => value !== undefined);
  const best = isLowBest ? Math.min(...known) : Math.max(...known);
  const isTold = new Set(known).size > 1;
  return [
    name,
    ...values.map((value) =>
      value === undefined ? (
        ''
      ) : (
        <span class={isTold && value === best ? 'best' : undefined}>{text(value)}</span>
      ),
    ),
  ];
}
