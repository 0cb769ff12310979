/** Short trials of other settings: what each was, how fast, what it cost, and which to take. */
import { rankedText, UNIT_PRICES } from '@tidewheel/doctor/probe.ts';
import { isFinished } from '../../client/run-view.ts';
import { dollarText, priceText, shortNumber } from '../model/format.ts';
import * as groups from '../model/probe-groups.ts';
import { Empty, Frame, Section } from '../parts/card.tsx';
import { numbers, Table } from '../parts/table.tsx';
import { Basis, Pill, RunLink } from '../parts/text.tsx';
import { useReading } from '../state/readings.ts';

const MOST = 50;
const POLL_SECONDS = 5;

export function ProbesScreen({ pipeline }: { readonly pipeline: string }) {
  const list = useReading('listProbes', { name: pipeline, limit: MOST }, ({ probes }) =>
    probes.every(isFinished) ? undefined : POLL_SECONDS,
  );
  const command = `probe ${pipeline} --vary num_workers=2,4`;
  return (
    <Frame title={pipeline} pipeline={pipeline} of={list} command={command}>
      {({ probes }) =>
        probes.every(({ evaluates }) => evaluates !== undefined) ? (
          <Empty>
            None yet. A probe trains for some steps with each of several settings, and compares them.
          </Empty>
        ) : (
          groups.probeGroups(probes).map((group) => <Group key={group.pin} group={group} />)
        )
      }
    </Frame>
  );
}

function Group({ group }: { readonly group: groups.ProbeGroup }) {
  const { pin, probes, unit, verdict } = group;
  const figures = numbers('step s', 'samples/s', UNIT_PRICES[unit], 'cost');
  return (
    <Section title={`On the data up to ${pin}`}>
      {verdict !== undefined && (
        <>
          <p>{`Cheapest: ${rankedText(verdict.cheapest, 'dearer')}.`}</p>
          <p>{`Fastest: ${rankedText(verdict.fastest, 'slower')}.`}</p>
        </>
      )}
      <Table
        caption={`probes on ${pin}`}
        columns={['settings', 'run', 'state', 'place', ...figures]}
        rows={probes.map(rowOf)}
      />
      <p class="quiet">{groups.measuredByText(group)}</p>
    </Section>
  );
}

function rowOf({ settings, usd, probe }: groups.NamedProbe) {
  const { runId, status, failure, topology, speed, costUsd } = probe;
  const measured = [speed?.stepSeconds, speed?.samplesPerSecond].map(
    (each) =>
      each && (
        <Basis of={`95 % between ${shortNumber(each.low)} and ${shortNumber(each.high)}`}>
          {shortNumber(each.mean)}
        </Basis>
      ),
  );
  return [
    settings,
    <RunLink runId={runId} />,
    failure === undefined ? <Pill status={status} /> : <span class="problem">{failure}</span>,
    topology,
    ...measured,
    usd !== undefined && priceText(usd),
    dollarText(costUsd),
  ];
}
