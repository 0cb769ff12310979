/** What people may who call with a token, on every route. */
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { httpEvent, requestIn } from '../../../functions/api/http-event.ts';
import { OPERATIONS } from '../../../functions/api/operation-table.ts';
import { planRun } from '../../../functions/api/operations/plan-run.ts';
import { answerPlan } from '../../../functions/api/plan/answer-plan.ts';
import { nameOf, roleInToken } from '../../../functions/api/shared/people.ts';
import { PEOPLE } from '../../support/builders/people.ts';
import { DECLARATION, type Ground, ground } from '../../support/world/ground.ts';
import { planDeps } from '../../support/world/plan.ts';

let at: Ground;
beforeEach(() => {
  at = ground();
});

const GROUPS = 'cognito:groups';
const VIEWER = { sub: '1', [GROUPS]: '[ml guests]' };
const OPERATOR = { sub: '2', email: 'ada@example.org', [GROUPS]: '[ml ml-operators]' };
/** `POST /plan` only answers. */
const CHANGES = /^(PUT|DELETE|POST (?!\/plan$))/;
const STRANGER = { sub: '3', [GROUPS]: '[finance]' };

async function statusOf(route: string, claims: Readonly<Record<string, unknown>>): Promise<number> {
  const parameters = { name: 'digits', runId: 'digits-000001', attempt: '1', generation: 'x' };
  const request = { route, parameters, query: {}, body: '{}', claims };
  return (await (route === planRun.route ? answerPlan(planDeps(at), request) : answer(at, request))).status;
}

describe.each(OPERATIONS)('$route', ({ route, role }) => {
  it('is denied to a token without a role', async () => {
    expect(await statusOf(route, STRANGER)).toBe(403);
    expect(await statusOf(route, {})).toBe(403);
  });

  it('is denied to a viewer where it changes something', async () => {
    expect(role).toBe(CHANGES.test(route) ? 'operator' : 'viewer');
    expect((await statusOf(route, VIEWER)) === 403).toBe(role === 'operator');
  });

  it('is open to an operator', async () => {
    expect(await statusOf(route, OPERATOR)).not.toBe(403);
  });
});

describe('a denied call', () => {
  it('says which role it needs, and stores nothing', async () => {
    const before = at.store.keys();
    const route = 'PUT /pipelines/{name}';
    const request = { route, parameters: { name: 'digits' }, query: {}, body: DECLARATION, claims: VIEWER };
    expect((await answer(at, request)).body).toEqual({
      message:
        'this needs the role operator, and your token has the role viewer: docs/deploy.md#people says what gives it',
    });
    expect(at.store.keys()).toEqual(before);
  });
});

describe('a role', () => {
  it.each([
    ['one value', 'ml-operators'],
    ['a list as API Gateway writes it', '[a ml-operators b]'],
    ['a list', ['a', 'ml-operators']],
  ])('comes from %s', (_, groups) => {
    expect(roleInToken({ [GROUPS]: groups }, PEOPLE)).toBe('operator');
  });

  it.each([
    ['a part of a value', 'ml-operators-of-others'],
    ['a value in another claim', undefined],
    ['a list in a text', 'x [ml-operators]'],
    ['a list of lists', [['finance', 'ml-operators']]],
  ])('does not come from %s', (_, groups) => {
    expect(roleInToken({ [GROUPS]: groups, name: 'ml-operators' }, PEOPLE)).toBeUndefined();
  });

  it('is not given by empty parameters', () => {
    expect(roleInToken({ '': '', sub: '' }, { operators: [], viewers: [] })).toBeUndefined();
  });
});

describe('the timeline’s name of a person', () => {
  it.each([
    [OPERATOR, 'ada@example.org (2)'],
    [VIEWER, '1'],
    [{ sub: 7 }, undefined],
  ])('of %o is %s', (claims, name) => {
    expect(nameOf(claims)).toBe(name);
  });
});

describe('an event of the API for people', () => {
  const event = { routeKey: 'GET /runs', version: '2.0' };
  const requestOf = (more: object) => requestIn(httpEvent.parse({ ...event, ...more }));

  it('bears the claims of its token', () => {
    const jwt = { claims: OPERATOR, scopes: null };
    expect(requestOf({ requestContext: { authorizer: { jwt } } })).toMatchObject({
      claims: OPERATOR,
      caller: 'ada@example.org (2)',
    });
  });

  it('has no claims where the authoriser is missing', () => {
    expect(requestOf({ stageVariables: { callers: 'people' }, requestContext: {} }).claims).toEqual({});
  });

  it('is no event of IAM', () => {
    const iam = { userArn: 'arn:aws:iam::123456789012:user/ada' };
    const request = requestOf({ requestContext: { authorizer: { iam } } });
    expect(request.caller).toBe(iam.userArn);
    expect(request.claims).toBeUndefined();
  });
});
