import { once } from '@tidewheel/kit/once.ts';
import { httpEvent } from '../../api/http-event.ts';
import { rememberedIssuer } from '../../api/page/issuer.ts';
import { answerPage } from '../../api/page/serve.ts';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { config } from '../../aws/shared/config.ts';
import { readJson } from '../../aws/shared/read-json.ts';
import { FILES, HTML } from './page-files.ts';

const signIn = once(() => {
  const { issuer: name, client } = config.signIn();
  return { issuer: rememberedIssuer({ name, clock: { now: () => new Date() }, read: readJson }), client };
});

export const handler = lambdaHandler('page', httpEvent, ({ pathParameters, headers }) => {
  const file = pathParameters?.['file'];
  const path = file === undefined ? '/' : `/page/${file}`;
  return answerPage({ html: HTML, files: FILES, ...signIn() }, { path, headers: headers ?? {} });
});
