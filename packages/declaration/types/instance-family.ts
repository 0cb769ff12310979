/** `g5` of `g5.xlarge`; a name without a dot is a family of its own. */
export const familyOf = (instanceType: string): string => instanceType.split('.', 1)[0] ?? instanceType;
