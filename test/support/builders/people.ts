/** Who may call the API with a token. */
import type { PeopleRoles } from '../../../functions/api/shared/people.ts';

export const PEOPLE: PeopleRoles = {
  operators: [{ claim: 'cognito:groups', value: 'ml-operators' }],
  viewers: [{ claim: 'cognito:groups', value: 'ml' }],
};
