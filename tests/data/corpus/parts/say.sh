#!/bin/sh
echo "$word"
