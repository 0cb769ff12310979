import { noPipeline, ok } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';
import { pageQuery, readPage } from '../shared/paging.ts';
import { runList, summaryOfRun } from '../shared/shown.ts';
import { hasDeclaration } from '../shared/stored-declaration.ts';

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
    const page = await readPage(`runs of ${name}`, query, {
      read: ({ limit, after, tell }) => deps.runs.list(name, limit, after, tell),
      nameOf: ({ runId }) => runId,
      show: summaryOfRun,
    });
    if ('status' in page) return page;
    const { items, ...rest } = page;
    // Runs outlive their pipeline's declaration.
    return items.length === 0 && rest.unreadable === undefined && !(await hasDeclaration(deps, name))
      ? noPipeline(name)
      : ok({ runs: items, ...rest });
  },
);
