import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, executions, objects, schedules, tableStores } from '../aws/lambda/services.ts';
import { cloudWatchLogs, cloudWatchLogsIn } from '../aws/logs/log-reader.ts';
import { config } from '../aws/shared/config.ts';
import { answer } from '../core/api/answer.ts';
import { httpEvent, requestIn, resultOf } from '../core/api/http-event.ts';

export const handler = lambdaHandler('api', httpEvent, async (event) => {
  const deps = {
    ...tableStores(),
    ...objects(),
    logs: cloudWatchLogs(cloudWatchLogsIn, config.region()),
    executions: executions(),
    schedules: schedules(),
    clock,
    notifiedMarker: config.notifiedMarker(),
    allowed: config.allowed(),
    people: config.people(),
  };
  return resultOf(await answer(deps, requestIn(event)));
});
