// Package policy has what the options of package generator are made of: which
// resources are in a set, when lists are closed and how long they are kept, what is
// said of resources, and the errors that say why a run was refused. Its values are
// plain and only read; text forms are those of the flags and settings.
package policy
