/** How a filter of system calls is written, for whoever starts something behind one; what it forbids is for them to say. */
export * from './seccomp/assemble.ts'
export * from './seccomp/rules.ts'
export * from './seccomp/system-calls.ts'
