/** Short trials of other settings: what each was, how fast, what it cost, and which to take. */
import { isFinished } from '../../client/run-view.ts';
import { dollarText, priceText, shortNumber } from '../model/format.ts';
import {
  measuredByText,
  type NamedProbe,
  type ProbeGroup,
  probeGroups,
  rankedText,
} from '../model/probe-groups.ts';
import { RunLink } from '../parts/run-link.tsx';
import { numbers, Table } from '../parts/table.tsx';
import { Command, ProblemText } from '../parts/text.tsx';
import { hrefOf } from '../state/address.ts';
import { useReading } from '../state/readings.ts';

const MOST = 50;
const POLL_SECONDS = 5;

export function ProbesScreen({ pipeline }: { readonly pipeline: string }) {
  const { body, refusal } = useReading('listProbes', { name: pipeline, limit: MOST }, ({ probes }) =>
    probes.every(isFinished) ? undefined : POLL_SECONDS,
  );
  return (
    <>
      <h1>{`Probes of ${pipeline}`}</h1>
      <p>
        <a href={hrefOf(['pipelines', pipeline])}>its runs</a>
      </p>
      {body === undefined ? (
        refusal === undefined && <p>Reading the API…</p>
      ) : body.probes.length === 0 ? (
        <p>None yet. A probe trains for some steps with each of several settings, and compares them.</p>
      ) : (
        probeGroups(body.probes).map((group) => <Group key={group.pin} group={group} />)
      )}
      <Command text={`npx tidewheel probe ${pipeline} --vary num_workers=2,4`} />
    </>
  );
}

function Group({ group }: { readonly group: ProbeGroup }) {
  const { pin, probes, unit, verdict } = group;
  const clock = measuredByText(group);
  const price = unit === 'samples' ? '$/M samples' : '$/1,000 steps';
  return (
    <>
      <h2>{`On the data up to ${pin}`}</h2>
      {verdict !== undefined && (
        <p>
          {`Cheapest: ${rankedText(verdict.cheapest, 'dearer')}.`}
          <br />
          {`Fastest: ${rankedText(verdict.fastest, 'slower')}.`}
        </p>
      )}
      <Table
        caption={`probes on ${pin}`}
        columns={['settings', 'run', 'state', 'place', ...numbers('step s', 'samples/s', price, 'cost')]}
        rows={probes.map(rowOf)}
      />
      {clock !== undefined && <p>{clock}</p>}
    </>
  );
}

function rowOf({ settings, usd, probe }: NamedProbe) {
  const { runId, status, failure, topology, speed, costUsd } = probe;
  const state = failure === undefined ? status : <ProblemText>{failure}</ProblemText>;
  const measured = [speed?.stepSeconds, speed?.samplesPerSecond].map((each) =>
    each === undefined ? (
      ''
    ) : (
      <span class="basis" title={`95 % between ${shortNumber(each.low)} and ${shortNumber(each.high)}`}>
        {shortNumber(each.mean)}
      </span>
    ),
  );
  const price = usd === undefined ? '' : priceText(usd);
  return [
    settings,
    <RunLink runId={runId} />,
    state,
    topology ?? '',
    ...measured,
    price,
    dollarText(costUsd),
  ];
}
