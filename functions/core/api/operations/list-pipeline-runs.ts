import { bucketKeys } from '../../shared/keys.ts';
import { noPipeline, ok, problem } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';
import { pageOf, pageQuery, requestedPage, steppedOver } from '../shared/paging.ts';
import { runList, summaryOfRun } from '../shared/shown.ts';

export const listPipelineRuns = defineOperation(
  {
    ...READS,
    route: 'GET /pipelines/{name}/runs',
    id: 'listPipelineRuns',
    summary: 'Lists the runs of a pipeline, newest first.',
    query: pageQuery(20),
    answer: runList,
    refusals: [404],
  },
  async (deps, { parameters: { name }, query }) => {
    const list = `runs of ${name}`;
    const page = requestedPage(list, query);
    if ('problem' in page) return problem(400, page.problem);
    const { tell, said } = steppedOver();
    const found = await deps.runs.list(name, page.limit + 1, page.after, tell);
    // Runs outlive their pipeline's declaration.
    if (
      found.length === 0 &&
      said().unreadable === undefined &&
      (await deps.store.readText(bucketKeys.pipeline(name))) === undefined
    )
      return noPipeline(name);
    const { items, ...next } = pageOf(list, { found, limit: page.limit }, ({ runId }) => runId);
    return ok({ runs: items.map(summaryOfRun), ...said(), ...next });
  },
);
