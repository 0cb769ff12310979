/** The screen "Now": a row a pipeline, with its last run. */
import type { PipelineRecord } from '../functions/core/runs/batches.ts';
import type { RunRecord } from '../functions/core/runs/run-records.ts';
import { type Answer, read } from './api.ts';
import { type Child, command, element, table } from './element.ts';
import { timeText } from './format.ts';
import type { Screen } from './screen.ts';

/** The API takes bursts of 40 calls, and a row is one call. */
const ROWS = 20;
const RUNS_A_ROW = 5;

interface Pipelines {
  readonly pipelines: readonly PipelineRecord[];
  readonly nextToken?: string;
}
interface Runs {
  readonly runs: readonly RunRecord[];
}

/** @param after token of the page of pipelines */
export async function now(after: string | undefined): Promise<Answer<Screen>> {
  const token = after === undefined ? '' : `&nextToken=${encodeURIComponent(after)}`;
  const list = await read<Pipelines>(`/pipelines?limit=${ROWS}${token}`);
  if (list.kind === 'refused') return list;
  const { pipelines, nextToken } = list.body;
  const runs = await Promise.all(
    pipelines.map(({ name }) =>
      read<Runs>(`/pipelines/${encodeURIComponent(name)}/runs?limit=${RUNS_A_ROW}`),
    ),
  );
  const refused = runs.find((answer) => answer.kind === 'refused');
  if (refused !== undefined) return refused;
  const rows = pipelines.map((pipeline, place) => {
    const answer = runs[place];
    return row(pipeline, answer?.kind === 'ok' ? answer.body.runs : []);
  });
  const content = [element('h1', {}, 'Pipelines'), ...(rows.length === 0 ? empty() : [listOf(rows)])];
  if (nextToken !== undefined)
    content.push(element('a', { href: `#/?after=${encodeURIComponent(nextToken)}` }, 'more pipelines'));
  const text = [list, ...runs].map((answer) => (answer.kind === 'ok' ? answer.text : '')).join('\n');
  return { kind: 'ok', text, body: { title: 'Pipelines', content, pollSeconds: 5 } };
}

const listOf = (rows: readonly Child[][]): HTMLElement =>
  table('pipelines', ['pipeline', 'newest run', 'state', 'changed', 'earlier runs'], rows);

function row({ name, valid, problems }: PipelineRecord, [newest, ...earlier]: readonly RunRecord[]): Child[] {
  const declared: Child = valid
    ? name
    : element('span', {}, name, element('div', { class: 'problem' }, problemsText(problems)));
  if (newest === undefined) return [declared, 'none: drop data below its incoming/', '', '', ''];
  const links = earlier.flatMap((run) => [runLink(run), ` ${run.status} `]);
  return [
    declared,
    runLink(newest),
    newest.status,
    timeText(newest.updatedAt),
    element('span', {}, ...links),
  ];
}

const problemsText = (problems: PipelineRecord['problems'] = []): string =>
  `declaration not valid: ${problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`;

const runLink = ({ runId }: RunRecord): HTMLElement =>
  element('a', { href: `#/runs/${encodeURIComponent(runId)}`, id: `link-${runId}` }, runId);

const empty = (): HTMLElement[] => [
  element('p', {}, 'There is no pipeline yet. Declare one; docs/pipeline.md shows how:'),
  command('aws s3 cp pipeline.yaml s3://BUCKET/pipelines/NAME.yaml'),
];
