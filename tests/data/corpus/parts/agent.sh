#!/bin/sh
echo agent
